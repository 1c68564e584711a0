package boundary

import (
	"context"
	"log/slog"
)

// LogHandler adds the tool and the request id to every record that is logged with
// a call's context, so that the id in a result finds the tool's own lines.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	c := callFrom(ctx)
	if c == nil || hasRequestID(r) {
		return h.Handler.Handle(ctx, r)
	}
	r = r.Clone()
	r.AddAttrs(slog.String(c.kind.attr, c.loggedTool()), slog.String("requestId", c.requestID))
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}

// hasRequestID is true of the boundary's own records.
func hasRequestID(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == "requestId"
		return !found
	})
	return found
}

// recoveringHandler drops the panics of the operator's log handler, which must not
// fail the call that is being logged.
type recoveringHandler struct{ slog.Handler }

func (h recoveringHandler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.Handler.Enabled(ctx, level)
}

func (h recoveringHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return h.Handler.Handle(ctx, r)
}
