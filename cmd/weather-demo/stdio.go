package main

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveStdio serves until the input ends. A signal ends the input too: the
// server waits for its running calls otherwise, and they for their users.
func serveStdio(ctx context.Context, server *mcp.Server, t terminal) error {
	in, typed := io.Pipe()
	go func() {
		_, err := io.Copy(typed, t.in)
		typed.CloseWithError(err)
	}()
	defer context.AfterFunc(ctx, func() { typed.Close() })()
	err := server.Run(context.WithoutCancel(ctx), &mcp.IOTransport{Reader: in, Writer: unclosed{t.out}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed is a writer that somebody else closes.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
