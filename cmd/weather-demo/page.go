package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/page"
)

const pageAbout = `Serves a page on which a person plays a multi-round call in every style, opens
the sealed state, kills the server while it waits, and attacks the call in other
ways. The browser is the MCP client, over WebSocket. The page is served to this
machine alone unless -public says otherwise.`

// servePage offers the page, and nothing else, until it is told to stop.
func servePage(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("page", flag.ContinueOnError)
	address := f.String("http", "127.0.0.1:0", "serve on this `address`; port 0 takes a free one")
	public := f.Bool("public", false, "serve other machines too")
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	played, err := page.New(&page.Options{Public: *public, Logger: logger})
	if err != nil {
		return err
	}
	defer played.Close()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "listening on http://%s/\n", listener.Addr())
	web := &http.Server{Handler: played, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return web.Close()
	}
}
