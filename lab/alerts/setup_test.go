package alerts_test

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// observed is how a server gets all that the page tells of.
func observed(server *mcp.Server, logger *slog.Logger) (*mrtr.Runtime, http.Handler, error) {
	observer, err := otelmrtr.New(&otelmrtr.Options{
		Public: true,                               // strangers reach this endpoint
		Keys:   []string{"seat", "sure", "charge"}, // of questions and effects
		Next:   observe.Log(logger, &observe.LogOptions{Principals: true}),
	})
	if err != nil {
		return nil, nil, err
	}
	rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(observer)})
	if err != nil {
		return nil, nil, err
	}
	_, gauges := observer.Watch(rt, "main") // WatchTasks for tasks
	door, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server },
		&mcphttp.HandlerOptions{Refused: observer.Refused})
	return rt, door, errors.Join(gauges, err)
}

var _ = observed
