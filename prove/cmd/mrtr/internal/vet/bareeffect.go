package vet

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// BareEffect reports effects above a question of replayed code.
var BareEffect = analyzer("bareeffect", `report effects outside mrtr.Once above a question

A handler given to linear.Journal, or to linear.Resumable, runs again from its top. Only
questions and Once repeat their results: any other effect above a question happens
again, and a clock, chance, a file or a query may lead the handler another way, which
ends the call with an error.

	place, err := linear.Ask(ctx, c, whichPlace)
	db.ExecContext(ctx, "INSERT INTO audit ...", place) // again in each round below
	units, err := linear.Ask(ctx, c, whichUnits)

Do it in Once, or below the last question:

	_, err = mrtr.Once(ctx, c, "audit", func(ctx context.Context, idem string) (bool, error) {
		_, err := db.ExecContext(ctx, "INSERT INTO audit ...", place)
		return err == nil, err
	})

It reports only: time.Now, Since and Until; shared sources of math/rand, math/rand/v2
and crypto/rand; new ids of github.com/google/uuid; files, directories, the environment,
Getpid and Hostname of os; os/exec; sending in net/http, net and net/smtp; Exec, Query,
QueryRow and Begin of database/sql; printing by fmt, log and log/slog; a go statement; a
select with a default or several channels; a question in a loop over a map.

A handler given to mrtr.Native runs again too, but a clock or chance does no harm there.
Above a mrtr.Need it reports only: changing files; os/exec; Post of net/http; net/smtp;
Exec of database/sql.

It follows functions of the same package. A call that leaves the package is an effect if
it takes a context and has a name like Charge, Send, Delete or Publish. -effects names
more, as import/path.Interface.Method.`, runBareEffect)

// rerun are the styles whose handler is run again from its top in each round.
var rerun = []struct {
	styles names
	asks   names // how their handlers ask
	effect func(ssa.Instruction) string
	report string
}{
	{
		names{linearPath + ".Journal", linearPath + ".Resumable"}, asks, effect,
		"%s above a question of journaled code: it happens again, and may come out differently, in each round; put it in mrtr.Once or below the last question",
	},
	{
		names{mrtrPath + ".Native"}, names{mrtrPath + ".Need"}, deed,
		"%s above a guard: it happens again in each round, and before the user has answered; put it in mrtr.Once or below the last guard",
	},
}

func runBareEffect(p *program, r *reporter) {
	for _, kind := range rerun {
		j := rerunCode{program: p, reporter: r, asks: kind.asks, effect: kind.effect, text: kind.report, seen: map[visit]bool{}, asking: map[*ssa.Function]bool{}}
		for _, call := range each[ssa.CallInstruction](p) {
			if !kind.styles.has(calledFunc(call)) || len(call.Common().Args) == 0 || !r.counts(call.Pos()) {
				continue
			}
			for _, handler := range p.functions(call.Common().Args[0]) {
				j.walk(handler, false)
			}
		}
	}
}

type rerunCode struct {
	*program
	*reporter
	asks   names
	effect func(ssa.Instruction) string
	text   string
	seen   map[visit]bool
	asking map[*ssa.Function]bool // whether a function asks
}

// visit is a function, and whether its caller asks something after it.
type visit struct {
	f        *ssa.Function
	asksNext bool
}

func (j *rerunCode) walk(f *ssa.Function, asksNext bool) {
	if j.seen[visit{f, asksNext}] {
		return
	}
	j.seen[visit{f, asksNext}] = true
	for instr := range in[ssa.Instruction](f) {
		next := asksNext || after(instr, j.isQuestion)
		if next {
			if happens := j.effect(instr); happens != "" {
				j.report(instr.Pos(), j.text, happens)
			}
		}
		if over := j.mapLoop(instr); over.IsValid() {
			j.report(over, "a question inside a loop over a map: the order differs in each round, so journaled code asks something else than before; loop over sorted keys")
		}
		if call, ok := instr.(ssa.CallInstruction); ok && stays(call) {
			for _, g := range j.callees(call) {
				j.walk(g, next)
			}
		}
	}
}

// isQuestion reports whether an instruction asks, itself or in a function that it calls.
func (j *rerunCode) isQuestion(instr ssa.Instruction) bool {
	call, ok := instr.(ssa.CallInstruction)
	if !ok || !stays(call) {
		return false
	}
	if j.asks.has(calledFunc(call)) {
		return true
	}
	for _, g := range j.callees(call) {
		known, found := j.asking[g]
		if !found {
			known = j.firstCall(g, j.asks).IsValid()
			j.asking[g] = known
		}
		if known {
			return true
		}
	}
	return false
}

// mapLoop is where a loop over a map begins that asks in its body.
func (j *rerunCode) mapLoop(instr ssa.Instruction) token.Pos {
	if call, ok := instr.(*ssa.Call); ok { // a loop over maps.Keys, All or Values
		made, ok := call.Call.Value.(*ssa.Call)
		if ok && mapIterators.has(calledFunc(made)) && j.isQuestion(call) {
			return made.Pos()
		}
		return token.NoPos
	}
	next, ok := instr.(*ssa.Next)
	if !ok || next.IsString {
		return token.NoPos
	}
	each := next.Iter.(*ssa.Range)
	if _, ok := each.X.Type().Underlying().(*types.Map); !ok {
		return token.NoPos
	}
	head := next.Block()
	if len(head.Succs) != 2 {
		return token.NoPos
	}
	body := head.Succs[0]
	for _, b := range head.Parent().Blocks {
		again := func(b *ssa.BasicBlock) bool { return b == head }
		if body.Dominates(b) && leads([]*ssa.BasicBlock{b}, again) && slices.ContainsFunc(b.Instrs, j.isQuestion) {
			return each.Pos()
		}
	}
	return token.NoPos
}

// deeds are the calls that clearly change something.
var deeds = names{
	"os.Create", "os.WriteFile", "os.Remove*", "os.Rename", "os.Truncate", "os.Link", "os.Symlink",
	"os.File.Write*", "os.File.Truncate",
	"os/exec.Cmd.Run", "os/exec.Cmd.Start", "os/exec.Cmd.Output", "os/exec.Cmd.CombinedOutput",
	"net/http.Post", "net/http.PostForm", "net/http.Client.Post", "net/http.Client.PostForm", "net/smtp.SendMail",
	"database/sql.DB.Exec*", "database/sql.Tx.Exec*", "database/sql.Conn.Exec*", "database/sql.Stmt.Exec*",
}

// changing are the calls that come out differently each time, or do a little.
var changing = names{
	"time.Now", "time.Since", "time.Until",

	"math/rand.Int*", "math/rand.Uint*", "math/rand.Float*", "math/rand.NormFloat64", "math/rand.ExpFloat64",
	"math/rand.Perm", "math/rand.Shuffle", "math/rand.Read",
	"math/rand/v2.Int*", "math/rand/v2.Uint*", "math/rand/v2.Float*", "math/rand/v2.NormFloat64", "math/rand/v2.ExpFloat64",
	"math/rand/v2.Perm", "math/rand/v2.Shuffle", "math/rand/v2.N",
	"crypto/rand.Read", "crypto/rand.Int", "crypto/rand.Prime", "crypto/rand.Text",
	"github.com/google/uuid.New", "github.com/google/uuid.NewString", "github.com/google/uuid.NewRandom",
	"github.com/google/uuid.NewUUID", "github.com/google/uuid.NewV6", "github.com/google/uuid.NewV7",

	"os.CreateTemp", "os.Open*", "os.ReadFile", "os.ReadDir", "os.Mkdir*",
	"os.Chmod", "os.Chown", "os.Lchown", "os.Chtimes", "os.Chdir",
	"os.Stat", "os.Lstat", "os.Setenv", "os.Unsetenv", "os.Clearenv", "os.Getpid", "os.Hostname",
	"os.File.Read*", "os.File.Sync",

	"net/http.Get", "net/http.Head", "net/http.Client.Do", "net/http.Client.Get", "net/http.Client.Head",
	"net/http.RoundTripper.RoundTrip", "net/http.Transport.RoundTrip",
	"net.Dial*", "net.Dialer.Dial*", "net.Lookup*", "net.Resolver.Lookup*",

	"database/sql.DB.Query*", "database/sql.DB.Begin*", "database/sql.Tx.Query*",
	"database/sql.Conn.Query*", "database/sql.Conn.Begin*", "database/sql.Stmt.Query*",

	"fmt.Print*",
	"log.Print*", "log.Output", "log.Logger.Print*", "log.Logger.Output",
	"log/slog.Debug*", "log/slog.Info*", "log/slog.Warn*", "log/slog.Error*", "log/slog.Log", "log/slog.LogAttrs",
	"log/slog.Logger.Debug*", "log/slog.Logger.Info*", "log/slog.Logger.Warn*", "log/slog.Logger.Error*",
	"log/slog.Logger.Log", "log/slog.Logger.LogAttrs",
}

// writers have an effect if they write to a file.
var writers = names{"fmt.Fprint*"}

var mapIterators = names{"maps.All", "maps.Keys", "maps.Values"}

var done = names{"context.Context.Done"}

// deed says what an instruction changes, "" if it clearly changes nothing.
func deed(instr ssa.Instruction) string {
	call, ok := instr.(ssa.CallInstruction)
	if !ok {
		return ""
	}
	f := calledFunc(call)
	if deeds.has(f) || writers.has(f) && toFile(call) && !toStandardStream(call) {
		return fmt.Sprintf("%s is called", shortNameOf(f))
	}
	return outside(call)
}

// Effects are more functions and methods that have an effect, by name.
var Effects []string

// acts matches the names of functions that change something elsewhere.
var acts = regexp.MustCompile(`^(?i:charge|pay|send|book|create|delete|remove|insert|update|upsert|save|store|write|put|post|publish|transfer|order|refund|reserve|` +
	`notify|submit|enqueue|push|emit|issue|register|commit|record|deploy|provision|debit|credit|withdraw|email|hold|ship|apply|grant|revoke|wire|place|dispatch|schedule|append|drop|execute|exec)($|[A-Z_0-9])`)

// outside says which effect a call has that leaves the package: through an interface, a field or
// an import. It takes a context, as such calls do.
func outside(call ssa.CallInstruction) string {
	common := call.Common()
	params := common.Signature().Params()
	f := calledFunc(call)
	name, where := fieldOf(common.Value), ""
	if f != nil {
		name, where = f.Name(), nameOf(f)
	}
	switch {
	case f != nil && names(Effects).has(f):
	case params.Len() == 0 || !isType(params.At(0).Type(), "context", "Context"):
		return ""
	case f != nil && (strings.HasPrefix(where, sdkPath+"/") || strings.HasPrefix(where, mcpPath)):
		return ""
	case f != nil && !common.IsInvoke() && f.Pkg() != nil && call.Parent() != nil && call.Parent().Pkg != nil && f.Pkg() == call.Parent().Pkg.Pkg:
		return "" // it is followed
	case !acts.MatchString(name):
		return ""
	}
	return name + " is called"
}

// fieldOf is the name of the field that a called function is kept in.
func fieldOf(v ssa.Value) string {
	_, name, _ := field(v)
	if name == "" {
		if loaded, ok := v.(*ssa.UnOp); ok {
			_, name, _ = field(loaded.X)
		}
	}
	return name
}

// effect says which effect an instruction has on code that is replayed, "" if it has none.
func effect(instr ssa.Instruction) string {
	switch instr := instr.(type) {
	case *ssa.Go:
		return "a goroutine is started"
	case *ssa.Select:
		return choice(instr)
	case ssa.CallInstruction:
		f := calledFunc(instr)
		if deeds.has(f) || changing.has(f) || writers.has(f) && toFile(instr) {
			return fmt.Sprintf("%s is called", shortNameOf(f))
		}
		return outside(instr)
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

// toStandardStream reports whether the first argument of a call is os.Stdout or os.Stderr.
func toStandardStream(call ssa.CallInstruction) bool {
	loaded, ok := call.Common().Args[0].(*ssa.MakeInterface).X.(*ssa.UnOp)
	if !ok {
		return false
	}
	variable, ok := loaded.X.(*ssa.Global)
	return ok && variable.Pkg.Pkg.Path() == "os"
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
