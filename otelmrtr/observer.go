// Package otelmrtr reports the calls that package mrtr serves to OpenTelemetry: a span for
// each round, all of a call in one trace, and metrics. [New] makes an observer for
// mrtr.Options, and [Observer.Watch] adds the gauges of a runtime.
package otelmrtr

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mrtr-go/sdk/mrtr/observe"
)

const scope = "github.com/mrtr-go/sdk/otelmrtr"

// Options configure an [Observer]. The zero value, and nil, mean the global providers.
type Options struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Public is for an endpoint that strangers reach. A trace parent that comes with a request
	// is linked there and not obeyed: otherwise a stranger chooses the ids of traces, and
	// which of them are sampled. Baggage is left out.
	Public bool
	// Keys are the keys of questions and effects that metrics name. Any other is "other" there,
	// since a handler may make a key of anything, such as an argument of its client's: a label
	// like that never ends, and may be a secret. Spans and the log have every key.
	Keys []string
	// Next receives every event too, such as those of observe.Log.
	Next observe.Observer
}

// Observer is an observe.TraceObserver. The span of a round is in the context of the
// handler, so that the spans of a handler's own work stand below it.
//
// It reports the method of a call, the name of the tool or prompt, the era, the
// revision, the client's name, the keys of questions and effects, and the types of errors. It
// never reports the address of a resource, a principal, an answer, or the text of an error.
// What a client chooses is in no metric.
type Observer struct {
	tracer  trace.Tracer
	public  bool
	meter   metric.Meter
	metrics instruments
	next    observe.Observer
}

// New makes an observer. The error is the meter provider's.
func New(opts *Options) (*Observer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	meter := o.MeterProvider.Meter(scope)
	metrics, err := newInstruments(meter, o.Keys)
	if err != nil {
		return nil, err
	}
	return &Observer{tracer: o.TracerProvider.Tracer(scope), public: o.Public, meter: meter, metrics: metrics, next: o.Next}, nil
}

// nameOf has few values: no address of a resource.
func nameOf(e *observe.Event) string {
	if e.Method == "resources/read" {
		return ""
	}
	return e.Name
}

// of are the attributes that spans and metrics have in common.
func of(e *observe.Event) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs, attribute.String("mcp.method.name", e.Method), attribute.String("mrtr.era", e.Era.String()))
	if name := nameOf(e); name != "" {
		attrs = append(attrs, attribute.String("mrtr.name", name))
	}
	if e.Task {
		attrs = append(attrs, attribute.Bool("mrtr.task", true))
	}
	return attrs
}

// outcomes are the events that end a round, by the outcome that metrics name.
var outcomes = map[observe.Kind]string{
	observe.QuestionsAsked: "asked",
	observe.CallCompleted:  "completed",
	observe.CallStopped:    "stopped",
	observe.StateRefused:   "refused",
	observe.RoundRefused:   "refused",
	observe.RoundRepeated:  "repeated",
	observe.RoundUnknown:   "unknown",
}

// Observe implements [observe.Observer].
func (o *Observer) Observe(ctx context.Context, e observe.Event) {
	if o.next != nil {
		defer o.next.Observe(ctx, e)
	}
	r, _ := ctx.Value(roundKey{}).(*round)
	o.metrics.count(ctx, &e)
	o.work(ctx, r, &e)
	if r == nil {
		return
	}
	outcome, ends := outcomes[e.Kind]
	if !ends {
		r.add(&e)
		return
	}
	if r.ended.Swap(true) {
		return
	}
	o.metrics.round(ctx, &e, outcome)
	r.end(&e, outcome)
}

// round is the span of a round, in the round's context.
type round struct {
	span  trace.Span
	ended atomic.Bool
}

type roundKey struct{}

// errorType is the type that an error gives itself. Its text may hold anything.
func errorType(err error) string {
	var typed interface{ ToolErrorType() string }
	switch {
	case err == nil:
		return ""
	case errors.As(err, &typed) && typed.ToolErrorType() != "":
		return typed.ToolErrorType()
	}
	return "execution"
}

func expected(err error) bool {
	var e interface{ ToolErrorExpected() bool }
	return errors.As(err, &e) && e.ToolErrorExpected()
}
