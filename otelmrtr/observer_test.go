package otelmrtr_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/sse/era"
)

// seen are the spans and metrics of an observer.
type seen struct {
	t        *testing.T
	spans    *tracetest.InMemoryExporter
	reader   *metric.ManualReader
	observer *otelmrtr.Observer
}

func seeing(t *testing.T, o otelmrtr.Options) seen {
	t.Helper()
	s := seen{t: t, spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(s.reader))
	var err error
	s.observer, err = otelmrtr.New(&o)
	require.NoError(t, err)
	return s
}

func (s seen) metrics() string { return strings.Join(points(s.reader), "\n") }

// request is a round of a modern client.
func request(state, key, answer, traceparent string) *mcp.CallToolRequest {
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	if traceparent != "" {
		meta["traceparent"] = traceparent
	}
	r := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "book", RequestState: state}}
	if answer != "" {
		r.Params.InputResponses = mcp.InputResponseMap{key: &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: answer}}}
	}
	return r
}

// problem is an error of any type. Its text is a secret.
type problem struct {
	kind     string
	expected bool
}

func (p problem) Error() string           { return "secret" }
func (p problem) ToolErrorType() string   { return p.kind }
func (p problem) ToolErrorExpected() bool { return p.expected }

var kinds = []observe.Kind{
	observe.RoundStarted, observe.AnswerRefused, observe.QuestionAnswered, observe.HandlerEntered, observe.EffectStarted, observe.EffectDone, observe.EffectFailed,
	observe.EffectInDoubt, observe.QuestionsAsked, observe.CallCompleted, observe.CallStopped, observe.StateRefused, observe.PrincipalRefused, observe.RequestRefused,
	observe.ToolHidden, observe.CallAbandoned, observe.FrameReleased, observe.EffectUndone, observe.EffectNotUndone, observe.RoundClaimed, observe.RoundTakenOver,
	observe.RoundOrphaned, observe.RoundRepeated, observe.RoundUnknown, observe.RoundRefused, observe.RoundNotRecorded, observe.StoreAsked,
	observe.CallJoined, observe.CallSplit, observe.KeyRefused,
}

var update = flag.Bool("update", false, "write testdata/events.txt anew")

// Each kind of event, with all that it may say and with little, makes the metrics and spans of
// testdata/events.txt. Keys that metrics do not name, addresses and the texts of errors are in
// none of them.
func TestEvents(t *testing.T) {
	events := map[string]observe.Event{
		"full": {
			Method: "tools/call", Name: "book", Era: era.Modern, Question: "seat", Answer: listen.HowAccepted, Wording: "w1", Effect: "reserve", Handler: "step",
			Operation: "get", Round: 1, Client: "agent 1.2", Questions: []string{"seat"}, StateBytes: 400, Waited: 2 * time.Second, Duration: time.Second, Reason: "a reason", Err: problem{kind: "fault"},
		},
		"bare": {Method: "resources/read", Name: "secret", Era: era.Legacy, Task: true, Question: "unnamed", Effect: "unnamed", Err: problem{"declined", true}},
	}
	var all strings.Builder
	for _, kind := range kinds {
		for _, name := range []string{"full", "bare"} {
			e := events[name]
			e.Kind = kind
			heard := 0
			s := seeing(t, otelmrtr.Options{Keys: []string{"seat", "reserve"}, Next: observerFunc(func(observe.Event) { heard++ })})
			fmt.Fprintf(&all, "-- %s, %s --\n", kind, name)
			s.observer.Observe(t.Context(), e) // of no round, as an event that comes late
			ctx := s.observer.RoundContext(t.Context(), observe.Event{Method: e.Method, Name: e.Name, Era: e.Era, Task: e.Task, Round: 1})
			s.observer.Observe(ctx, e)
			s.observer.Observe(ctx, observe.Event{Kind: observe.CallCompleted, Method: e.Method, Name: e.Name, Era: e.Era, Task: e.Task})
			s.observer.Observe(ctx, observe.Event{Kind: observe.CallCompleted}) // a round ends once
			require.Equal(t, 4, heard)
			fmt.Fprintln(&all, s.metrics())
			for _, span := range s.spans.GetSpans() {
				took := span.EndTime.Sub(span.StartTime).Round(time.Second)
				fmt.Fprintf(&all, "span %s, %v: %v %q %v\n", span.Name, took, span.Status.Code, span.Status.Description, span.Attributes)
				for _, event := range span.Events {
					fmt.Fprintf(&all, "  %s: %v\n", event.Name, event.Attributes)
				}
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/events.txt", []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/events.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), all.String())
	require.NotContains(t, all.String(), "secret")
}

type observerFunc func(observe.Event)

func (f observerFunc) Observe(_ context.Context, e observe.Event) { f(e) }
