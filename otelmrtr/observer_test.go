package otelmrtr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/store"
)

// encoded writes attributes as text.
type encoded struct{ attribute.Set }

func (e encoded) Encoded() string { return e.Set.Encoded(attribute.DefaultEncoder()) }

// seen are the spans and metrics of an observer.
type seen struct {
	t        *testing.T
	tracer   trace.Tracer
	spans    *tracetest.InMemoryExporter
	reader   *metric.ManualReader
	rt       *mrtr.Runtime
	observer *otelmrtr.Observer
}

func observed(t *testing.T, opts mrtr.Options) seen {
	t.Helper()
	s := seen{t: t, spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	s.tracer = provider.Tracer("test")
	observer, err := otelmrtr.New(&otelmrtr.Options{
		TracerProvider: provider, MeterProvider: metric.NewMeterProvider(metric.WithReader(s.reader)), Keys: []string{"seat", "reserve"},
	})
	require.NoError(t, err)
	s.observer, opts.Listener = observer, observe.With(observer)
	s.rt, err = mrtr.New(&opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.rt.Close()) })
	return s
}

func (s seen) metrics() string {
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(s.t.Context(), &all))
	return strings.Join(points(all), "\n")
}

// request is a round of a modern client.
func request(state, answer, traceparent string) *mcp.CallToolRequest {
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	if traceparent != "" {
		meta["traceparent"] = traceparent
	}
	r := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "book", RequestState: state}}
	if answer != "" {
		r.Params.InputResponses = mcp.InputResponseMap{"seat": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": answer}}}
	}
	return r
}

func native(end func(ctx context.Context) error) mrtr.Style[trip, seat] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, seat, error) {
		v, ok := mrtr.Answer(c, where)
		if !ok {
			return mrtr.Need(where), seat{}, nil
		}
		return nil, seat{v}, end(ctx)
	})
}

func TestAFaultIsAnErrorWithoutItsText(t *testing.T) {
	s := observed(t, mrtr.Options{})
	h := mrtr.Tool(s.rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, seat, error) {
		if _, ok := mrtr.Answer(c, where); !ok {
			return mrtr.Need(where), seat{}, nil
		}
		reserved, err := mrtr.Once(ctx, c, "reserve", func(context.Context, string) (seat, error) { return seat{}, errors.New("secret") })
		return nil, reserved, err
	}), nil)
	res, _, err := h(t.Context(), request("", "", ""), trip{})
	require.NoError(t, err)
	_, _, err = h(t.Context(), request(res.RequestState, "window", ""), trip{})
	require.Error(t, err)
	failed, last := s.spans.GetSpans()[1], s.spans.GetSpans()[2]
	require.Equal(t, codes.Error, last.Status.Code)
	require.Equal(t, "execution", last.Status.Description)
	require.Contains(t, last.Attributes, attribute.String("error.type", "execution"))
	require.Equal(t, "effect", failed.Name)
	require.Equal(t, last.SpanContext.SpanID(), failed.Parent.SpanID())
	require.Equal(t, codes.Error, failed.Status.Code)
	require.Contains(t, failed.Attributes, attribute.String("mrtr.effect", "reserve"))
	require.Contains(t, failed.Attributes, attribute.String("error.type", "execution"))
	require.NotContains(t, fmt.Sprint(s.spans.GetSpans()), "secret")
	require.NotContains(t, s.metrics(), "secret")
	require.Contains(t, s.metrics(), "mrtr.calls.stopped{error.type=execution,mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book} 1")
}

// The user may end a call: nothing is wrong then.
func TestADeclineIsNoError(t *testing.T) {
	s := observed(t, mrtr.Options{})
	h := mrtr.Tool(s.rt, native(nil), nil)
	res, _, err := h(t.Context(), request("", "", ""), trip{})
	require.NoError(t, err)
	r := request(res.RequestState, "", "")
	r.Params.InputResponses = mcp.InputResponseMap{"seat": &mcp.ElicitResult{Action: "decline"}}
	_, _, err = h(t.Context(), r, trip{})
	require.Error(t, err)
	last := s.spans.GetSpans()[1]
	require.Equal(t, codes.Unset, last.Status.Code)
	require.Contains(t, last.Attributes, attribute.String("error.type", "declined"))
	require.Contains(t, last.Attributes, attribute.String("mrtr.outcome", "stopped"))
	require.Contains(t, s.metrics(), "mrtr.answers{mcp.method.name=tools/call,mrtr.answer=declined,mrtr.era=modern,mrtr.name=book,mrtr.question=seat} 1")
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	refuses := false
	s := observed(t, mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) {
		if refuses {
			return "", errors.New("secret")
		}
		return "", nil
	}})
	h := mrtr.Tool(s.rt, native(func(context.Context) error { return nil }), nil)
	res, _, err := h(t.Context(), request("", "", ""), trip{})
	require.NoError(t, err)
	_, _, err = h(t.Context(), request("forged", "", ""), trip{})
	require.Error(t, err)
	_, _, err = h(t.Context(), request(res.RequestState, "", ""), trip{})
	require.NoError(t, err, "asked again")
	refuses = true
	_, _, err = h(t.Context(), request("", "", ""), trip{})
	require.Error(t, err)
	metrics := s.metrics()
	for _, want := range []string{
		"mrtr.refusals{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.reason=malformed,mrtr.refused=state} 1",
		"mrtr.reasks{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.question=seat,mrtr.reason=it is missing} 1",
		"mrtr.refusals{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.reason=Options.Principal returned an error,mrtr.refused=principal} 1",
	} {
		require.Contains(t, metrics, want)
	}
	require.NotContains(t, metrics, "secret")
}

// A round whose client has left is counted when that happens, and again when it ends.
func TestARoundWhoseClientLeaves(t *testing.T) {
	goOn, began := make(chan struct{}), make(chan struct{})
	s := observed(t, mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
	stop, err := s.observer.Watch(s.rt, "main")
	require.NoError(t, err)
	defer func() { require.NoError(t, stop()) }()
	h := mrtr.Tool(s.rt, native(func(context.Context) error {
		close(began)
		<-goOn
		return nil
	}), nil)
	res, _, err := h(t.Context(), request("", "", ""), trip{})
	require.NoError(t, err)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-began
		hangUp()
	}()
	_, _, err = h(ctx, request(res.RequestState, "window", ""), trip{})
	require.ErrorIs(t, err, context.Canceled)
	metrics := s.metrics()
	require.Contains(t, metrics, "mrtr.store.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=orphaned} 1")
	require.Contains(t, metrics, "mrtr.rounds.orphaned{mrtr.runtime=main} 1")
	close(goOn)
	_, out, err := h(t.Context(), request(res.RequestState, "window", ""), trip{})
	require.NoError(t, err)
	require.Equal(t, "window", out.Seat)
	require.NoError(t, s.rt.Close()) // the outcome is there a moment before the round has left
	require.Contains(t, s.metrics(), "mrtr.rounds.orphaned{mrtr.runtime=main} 0")
}

func TestOutcomesOfTheStore(t *testing.T) {
	s := observed(t, mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
	h := mrtr.Tool(s.rt, native(func(context.Context) error { return nil }), nil)
	res, _, err := h(t.Context(), request("", "", ""), trip{})
	require.NoError(t, err)
	for range 2 {
		_, out, err := h(t.Context(), request(res.RequestState, "window", ""), trip{})
		require.NoError(t, err)
		require.Equal(t, "window", out.Seat)
	}
	_, _, err = h(t.Context(), request(res.RequestState, "aisle", ""), trip{})
	require.Error(t, err)
	metrics := s.metrics()
	for _, want := range []string{
		"mrtr.store.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=claimed} 1", "mrtr.store.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=repeated} 1", "mrtr.store.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=refused} 1",
		"mrtr.name=book,mrtr.outcome=repeated} 1", "mrtr.name=book,mrtr.outcome=refused} 1", "mrtr.name=book,mrtr.outcome=completed} 1",
	} {
		require.Contains(t, metrics, want)
	}
	require.Len(t, s.spans.GetSpans(), 4, "every span has ended")
}
