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

// A call of two rounds, without a transport, allocates little more if it is logged at INFO, counted,
// and traced by spans that nobody exports.
func TestWatchingAllocatesLittle(t *testing.T) {
	log, meters := observe.Log(slog.New(slog.NewJSONHandler(io.Discard, nil))), metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	counted, err := otelmrtr.New(&otelmrtr.Options{MeterProvider: meters})
	require.NoError(t, err)
	all, err := otelmrtr.New(&otelmrtr.Options{MeterProvider: meters, TracerProvider: sdktrace.NewTracerProvider(), Next: log})
	require.NoError(t, err)
	allocations := func(opts mrtr.Options) float64 {
		rt, err := mrtr.New(&opts)
		require.NoError(t, err)
		defer rt.Close()
		h := mrtr.Tool(rt, native(func(context.Context) error { return nil }), nil)
		return testing.AllocsPerRun(200, func() {
			res, _, err := h(t.Context(), request("", "", "", ""), trip{})
			require.NoError(t, err)
			_, _, err = h(t.Context(), request(res.RequestState, "seat", "window", ""), trip{})
			require.NoError(t, err)
		})
	}
	off := allocations(mrtr.Options{})
	for most, o := range map[float64]observe.Observer{85: log, 105: counted, 152: all} {
		adds := allocations(mrtr.Options{Listener: observe.With(o)}) - off
		t.Logf("%T adds %.0f allocations to %.0f", o, adds, off)
		require.LessOrEqual(t, adds, most)
	}
}
