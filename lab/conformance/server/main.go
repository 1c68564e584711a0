// Command server is called by the official conformance suite: it serves the
// fixtures to both eras of the protocol on one URL.
//
// Its first line on stdout is "listening on URL". It stops on SIGINT and
// SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

func main() {
	address := flag.String("http", "127.0.0.1:0", "the `address` to listen on")
	bounded := flag.Bool("boundary", false, "install the boundary around the fixtures")
	stock := flag.Bool("stock-front", false, "let go-sdk's HTTP layer serve every request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *address, *bounded, *stock); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, address string, bounded, stock bool) error {
	rt, err := mrtr.New(nil)
	if err != nil {
		return err
	}
	server := newServer(rt)
	if bounded {
		if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
			return err
		}
	}
	manager, err := tasks.Install(server, &tasks.Options{Runtime: rt})
	if err != nil {
		return err
	}
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	fmt.Printf("listening on http://%s/mcp\n", listener.Addr())

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(handler.Shutdown(ending), web.Shutdown(ending), manager.Close(), rt.Close())
}
