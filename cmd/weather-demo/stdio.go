package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/stdio"
)

// serveStdio serves until the input ends. A signal ends the input too, since
// otherwise the server would wait for running calls, which wait for their users.
func serveStdio(ctx context.Context, server *mcp.Server, logger *slog.Logger, t terminal) error {
	in, input := io.Pipe()
	go func() {
		_, err := io.Copy(input, t.in)
		input.CloseWithError(err)
	}()
	defer context.AfterFunc(ctx, func() { input.Close() })()
	transport, err := stdio.New(&stdio.Options{Reader: in, Writer: unclosed{t.out}, Logger: logger})
	if err != nil {
		return err
	}
	err = server.Run(context.WithoutCancel(ctx), transport)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed is a writer that its owner closes.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
