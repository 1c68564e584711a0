package rendezvous

import (
	"context"
	"encoding/json"
)

// A Stream is the way from a server's middleware to the client of a subscription, for what
// go-sdk has no type for: it drops the tasks that a subscription names, and sends no
// notification that it does not know.
type Stream interface {
	// Tasks are those that the subscription with this id names.
	Tasks(id any) []string
	// Notify sends a notification. It returns an error once nobody reads any more.
	Notify(ctx context.Context, method string, params json.RawMessage) error
}

type streamKey struct{}

// WithStream returns the context of the requests whose client the stream leads to.
func WithStream(ctx context.Context, s Stream) context.Context {
	return context.WithValue(ctx, streamKey{}, s)
}

type lastingKey struct{}

// WithLastingSession returns the context of the requests of a session that lasts longer than each
// of them, although they carry a header as those do that come alone.
func WithLastingSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, lastingKey{}, true)
}

// InLastingSession reports whether a request comes in such a session.
func InLastingSession(ctx context.Context) bool { return ctx.Value(lastingKey{}) != nil }

// StreamOf is the way to the client of a request, nil if its transport has none.
func StreamOf(ctx context.Context) Stream {
	s, _ := ctx.Value(streamKey{}).(Stream)
	return s
}
