package vet

import (
	"fmt"

	"golang.org/x/tools/go/ssa"
)

// effects are the calls that clearly do something, or come out differently each
// time.
var effects = names{
	"time.Now", "time.Since", "time.Until",

	"math/rand.Int*", "math/rand.Uint*", "math/rand.Float*", "math/rand.NormFloat64", "math/rand.ExpFloat64",
	"math/rand.Perm", "math/rand.Shuffle", "math/rand.Read",
	"math/rand/v2.Int*", "math/rand/v2.Uint*", "math/rand/v2.Float*", "math/rand/v2.NormFloat64", "math/rand/v2.ExpFloat64",
	"math/rand/v2.Perm", "math/rand/v2.Shuffle", "math/rand/v2.N",
	"crypto/rand.Read", "crypto/rand.Int", "crypto/rand.Prime", "crypto/rand.Text",
	"github.com/google/uuid.New", "github.com/google/uuid.NewString", "github.com/google/uuid.NewRandom",
	"github.com/google/uuid.NewUUID", "github.com/google/uuid.NewV6", "github.com/google/uuid.NewV7",

	"os.Create*", "os.Open*", "os.ReadFile", "os.ReadDir", "os.WriteFile", "os.Mkdir*", "os.Remove*", "os.Rename",
	"os.Truncate", "os.Chmod", "os.Chown", "os.Lchown", "os.Chtimes", "os.Chdir", "os.Link", "os.Symlink",
	"os.Stat", "os.Lstat", "os.Setenv", "os.Unsetenv", "os.Clearenv", "os.Getpid", "os.Hostname",
	"os.File.Write*", "os.File.Read*", "os.File.Truncate", "os.File.Sync",
	"os/exec.Cmd.Run", "os/exec.Cmd.Start", "os/exec.Cmd.Output", "os/exec.Cmd.CombinedOutput",

	"net/http.Get", "net/http.Head", "net/http.Post", "net/http.PostForm",
	"net/http.Client.Do", "net/http.Client.Get", "net/http.Client.Head", "net/http.Client.Post", "net/http.Client.PostForm",
	"net/http.RoundTripper.RoundTrip", "net/http.Transport.RoundTrip",
	"net.Dial*", "net.Dialer.Dial*", "net.Lookup*", "net.Resolver.Lookup*", "net/smtp.SendMail",

	"database/sql.DB.Exec*", "database/sql.DB.Query*", "database/sql.DB.Begin*",
	"database/sql.Tx.Exec*", "database/sql.Tx.Query*",
	"database/sql.Conn.Exec*", "database/sql.Conn.Query*", "database/sql.Conn.Begin*",
	"database/sql.Stmt.Exec*", "database/sql.Stmt.Query*",

	"fmt.Print*",
	"log.Print*", "log.Output", "log.Logger.Print*", "log.Logger.Output",
	"log/slog.Debug*", "log/slog.Info*", "log/slog.Warn*", "log/slog.Error*", "log/slog.Log", "log/slog.LogAttrs",
	"log/slog.Logger.Debug*", "log/slog.Logger.Info*", "log/slog.Logger.Warn*", "log/slog.Logger.Error*",
	"log/slog.Logger.Log", "log/slog.Logger.LogAttrs",
}

// writers have an effect where they write to a file.
var writers = names{"fmt.Fprint*"}

var mapIterators = names{"maps.All", "maps.Keys", "maps.Values"}

var done = names{"context.Context.Done"}

// effect says which effect an instruction has, "" where it has none.
func effect(instr ssa.Instruction) string {
	switch instr := instr.(type) {
	case *ssa.Go:
		return "a goroutine is started"
	case *ssa.Select:
		return choice(instr)
	case ssa.CallInstruction:
		f := calledFunc(instr)
		if effects.has(f) || writers.has(f) && toFile(instr) {
			return fmt.Sprintf("%s is called", shortNameOf(f))
		}
	}
	return ""
}

// toFile reports whether the first argument of a call is an *os.File.
func toFile(call ssa.CallInstruction) bool {
	args := call.Common().Args
	if len(args) == 0 {
		return false
	}
	to, ok := args[0].(*ssa.MakeInterface)
	return ok && isType(to.X.Type(), "os", "File")
}

// choice reports on a select whose outcome may differ: one among several
// channels, or a look whether one is ready. Waiting for a context's end beside
// one channel is neither, because a context that ends, ends the round.
func choice(s *ssa.Select) string {
	channels := 0
	for _, state := range s.States {
		if call, ok := state.Chan.(*ssa.Call); !ok || !done.has(calledFunc(call)) {
			channels++
		}
	}
	if channels >= 2 || channels == 1 && !s.Blocking {
		return "a select chooses among channels"
	}
	return ""
}
