package main

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveStdio serves until the input ends. A signal ends the input too, since
// otherwise the server would wait for running calls, which wait for their users.
func serveStdio(ctx context.Context, server *mcp.Server, t terminal) error {
	in, input := io.Pipe()
	go func() {
		_, err := io.Copy(input, t.in)
		input.CloseWithError(err)
	}()
	defer context.AfterFunc(ctx, func() { input.Close() })()
	err := server.Run(context.WithoutCancel(ctx), &mcp.IOTransport{Reader: in, Writer: unclosed{t.out}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed is a writer that its owner closes.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
