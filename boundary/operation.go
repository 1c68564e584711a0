package boundary

import (
	"context"
	"log/slog"
	"time"
)

type operation struct {
	name  string
	spent time.Duration
}

// Operation measures a part of a tool call for the call's log record:
//
//	defer boundary.Operation(ctx, "geocode")()
//
// Durations under one name are added up. Outside a boundary it does nothing.
func Operation(ctx context.Context, name string) (done func()) {
	c := callFrom(ctx)
	if c == nil {
		return func() {}
	}
	begun := time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range c.operations {
			if c.operations[i].name == name {
				c.operations[i].spent += time.Since(begun)
				return
			}
		}
		c.operations = append(c.operations, operation{name, time.Since(begun)})
	}
}

func (c *call) timings() []slog.Attr {
	c.mu.Lock()
	defer c.mu.Unlock()
	var attrs []slog.Attr
	for _, op := range c.operations {
		attrs = append(attrs, slog.Float64(op.name, milliseconds(op.spent)))
	}
	return attrs
}
