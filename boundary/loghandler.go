package boundary

import (
	"context"
	"log/slog"
)

// LogHandler gives every record logged with a tool call's context the tool and
// the request id, so that a tool's own lines are found by what the client was
// told. The boundary's own records have both already.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	c := callFrom(ctx)
	if c == nil || named(r) {
		return h.Handler.Handle(ctx, r)
	}
	r = r.Clone()
	r.AddAttrs(slog.String("tool", c.loggedTool()), slog.String("requestId", c.requestID))
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}

func named(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == "requestId"
		return !found
	})
	return found
}

// calmHandler keeps a log handler's panics from the calls it logs: they are the
// operator's fault and not the tool's.
type calmHandler struct{ slog.Handler }

func (h calmHandler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.Handler.Enabled(ctx, level)
}

func (h calmHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return h.Handler.Handle(ctx, r)
}
