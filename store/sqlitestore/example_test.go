package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/sqlitestore"
)

type booking struct {
	Seat string `json:"seat"`
}

// book asks for a seat and charges for it, once.
func book(ctx context.Context, c *mrtr.Call, _ struct{}) (booking, error) {
	seat, err := linear.Ask(ctx, c, mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...))
	if err != nil {
		return booking{}, err
	}
	return mrtr.Once(ctx, c, "charge", func(context.Context, string) (booking, error) {
		fmt.Println("(charged for " + seat + ")")
		return booking{seat}, nil
	})
}

// run serves until the process is told to end. The keys come from the environment, as
// `openssl rand -base64 32` prints them, and the rounds are remembered in a file: so calls
// go on after a restart.
func run(ctx context.Context, address, file string, listening func(net.Addr)) error {
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS")
	if err != nil {
		return err
	}
	rounds, err := sqlitestore.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	defer rounds.Close()
	rt, err := mrtr.New(&mrtr.Options{
		State:    &statecodec.Options{Keys: keys},
		Durable:  durable.In(rounds, nil),
		Listener: observe.With(observe.Log(slog.New(slog.DiscardHandler))), // slog.Default() in a real one
	})
	if err != nil {
		return err
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, linear.Resumable(book), nil))
	return serve.HTTP(ctx, address, server, &serve.Options{Runtime: rt, Listening: listening})
}

// A server with a file, as an operator runs it. It is told to end while a user thinks. The
// next process takes the answer, and gives the same result to a request that comes again.
func Example() {
	folder, err := os.MkdirTemp("", "rounds")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	os.Setenv("MRTR_KEYS", statecodec.GenerateKey().Text())
	defer os.Unsetenv("MRTR_KEYS")

	retry := wire.Request{Name: "book", Responses: map[string]any{"seat": map[string]any{"action": "accept", "content": map[string]any{"seat": "window"}}}}
	serving(filepath.Join(folder, "rounds.db"), func(client *wire.Client) {
		first, err := client.Send(context.Background(), wire.Request{Name: "book"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(first.Asks[0].Message)
		retry.State = first.State
	})
	serving(filepath.Join(folder, "rounds.db"), func(client *wire.Client) {
		for range 2 { // the client lost the first response
			last, err := client.Send(context.Background(), retry)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(string(last.Structured))
		}
	})
	// Output:
	// Which seat?
	// (the server ended: <nil>)
	// (charged for window)
	// {"seat":"window"}
	// {"seat":"window"}
	// (the server ended: <nil>)
}

// serving runs a server, and tells its process to end afterwards.
func serving(file string, use func(*wire.Client)) {
	address, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- run(context.Background(), "127.0.0.1:0", file, func(a net.Addr) { address <- a }) }()
	client, err := wire.DialHTTP(context.Background(), "http://"+(<-address).String()+"/mcp", &http.Client{Transport: &http.Transport{}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	use(client)
	client.Close()
	process, err := os.FindProcess(os.Getpid())
	if err != nil {
		log.Fatal(err)
	}
	if err := process.Signal(syscall.SIGTERM); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("(the server ended: %v)\n", <-ended)
}
