package otelmrtr_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
)

// observers are what watching may cost: nothing, the log at INFO, metrics, metrics and spans
// that are exported nowhere, and all of it.
func observers(tb testing.TB) map[string]observe.Observer {
	log := observe.Log(slog.New(slog.NewJSONHandler(io.Discard, nil)))
	with := func(o otelmrtr.Options) observe.Observer {
		o.MeterProvider = metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
		observer, err := otelmrtr.New(&o)
		require.NoError(tb, err)
		return observer
	}
	return map[string]observe.Observer{
		"off": nil, "log": log, "metrics": with(otelmrtr.Options{}),
		"spans": with(otelmrtr.Options{TracerProvider: sdktrace.NewTracerProvider()}),
		"all":   with(otelmrtr.Options{TracerProvider: sdktrace.NewTracerProvider(), Next: log}),
	}
}

// BenchmarkTwoRounds is a call that asks one question, without a transport.
func BenchmarkTwoRounds(b *testing.B) {
	for name, observer := range observers(b) {
		b.Run(name, func(b *testing.B) {
			rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(observer)})
			require.NoError(b, err)
			defer rt.Close()
			h := mrtr.Tool(rt, native(func(context.Context) error { return nil }), nil)
			b.ReportAllocs()
			for b.Loop() {
				res, _, err := h(b.Context(), request("", "", ""), trip{})
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := h(b.Context(), request(res.RequestState, "window", ""), trip{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
