package docs_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

func run(ctx context.Context, address string, rounds store.Store, verify auth.TokenVerifier) error {
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS")
	if err != nil {
		return err
	}
	rt, err := mrtr.New(&mrtr.Options{
		State:    &statecodec.Options{Keys: keys}, // statecodec.KeysFromEnv("MRTR_KEYS")
		Durable:  durable.In(rounds, nil),         // sqlitestore.Open(ctx, "rounds.db", nil)
		Listener: observe.With(observe.Log(slog.Default())),
	})
	if err != nil {
		return err
	}
	server := newServer(rt) // with its tools
	return serve.HTTP(ctx, address, server, &serve.Options{
		Runtime: rt,
		Guard:   auth.RequireBearerToken(verify, nil), // verify sets UserID, which binds states, and Expiration
	})
}

func newServer(rt *mrtr.Runtime) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "greet"}, options.Basic(rt))
	return server
}

// elsewhere is a memory store as if other processes shared it.
type elsewhere struct{ *store.Memory }

func (elsewhere) Scope() store.Scope { return store.Machine }

// A server that is told to end at once ends without an error.
func Example_serve() {
	os.Setenv("MRTR_KEYS", statecodec.GenerateKey().Text())
	defer os.Unsetenv("MRTR_KEYS")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	fmt.Println(run(ctx, "127.0.0.1:0", elsewhere{store.NewMemory(nil)}, nil))
	// Output: <nil>
}
