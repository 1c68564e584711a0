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

// BenchmarkTwoRounds is a call that asks one question, without a transport: watched by nobody,
// by the log at INFO, by metrics, by metrics and spans that are exported nowhere, and by all.
func BenchmarkTwoRounds(b *testing.B) {
	log := observe.Log(slog.New(slog.NewJSONHandler(io.Discard, nil)))
	tracer := sdktrace.NewTracerProvider()
	for name, o := range map[string]*otelmrtr.Options{
		"off": nil, "log": nil, "metrics": {}, "spans": {TracerProvider: tracer}, "all": {TracerProvider: tracer, Next: log},
	} {
		b.Run(name, func(b *testing.B) {
			var opts mrtr.Options
			if name == "log" {
				opts.Listener = observe.With(log)
			} else if o != nil {
				o.MeterProvider = metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
				observer, err := otelmrtr.New(o)
				require.NoError(b, err)
				opts.Listener = observe.With(observer)
			}
			rt, err := mrtr.New(&opts)
			require.NoError(b, err)
			defer rt.Close()
			h := mrtr.Tool(rt, native(func(context.Context) error { return nil }), nil)
			b.ReportAllocs()
			for b.Loop() {
				res, _, err := h(b.Context(), request("", "", "", ""), trip{})
				require.NoError(b, err)
				_, _, err = h(b.Context(), request(res.RequestState, "seat", "window", ""), trip{})
				require.NoError(b, err)
			}
		})
	}
}
