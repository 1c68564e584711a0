// Package otelmrtr reports the calls that package mrtr serves to OpenTelemetry: a span for
// each round, all of one trace if the client sent a trace parent with round one, and
// metrics. [New] makes an observer for mrtr.Options, and [Observer.Watch] adds the
// gauges of a runtime.
package otelmrtr

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mrtr-go/sdk/mrtr"
)

const scope = "github.com/mrtr-go/sdk/otelmrtr"

// Options configure an [Observer]. The zero value, and nil, mean the global providers.
type Options struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Next receives every event too, such as those of mrtr.LogObserver.
	Next mrtr.Observer
}

// Observer is an mrtr.ContextObserver. The span of a round is in the context of the
// handler, so that the spans of a handler's own work stand below it.
//
// It reports the method of a call, the name of the tool or prompt, the era, the
// revision, the keys of questions and effects, and the types of errors. It never reports
// the address of a resource, a principal, an answer, or the text of an error.
type Observer struct {
	tracer  trace.Tracer
	meter   metric.Meter
	metrics instruments
	next    mrtr.Observer
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
	metrics, err := newInstruments(meter)
	if err != nil {
		return nil, err
	}
	return &Observer{tracer: o.TracerProvider.Tracer(scope), meter: meter, metrics: metrics, next: o.Next}, nil
}

// round is the span of a round, in the round's context.
type round struct {
	span  trace.Span
	ended atomic.Bool
}

type roundKey struct{}

// RoundContext begins the span of a round. Its parent is the trace parent that came with
// round one of the call. A span that the context already has, such as that of an HTTP
// server, is linked then; otherwise it is the parent.
func (o *Observer) RoundContext(ctx context.Context, e mrtr.Event) context.Context {
	if next, ok := o.next.(mrtr.ContextObserver); ok {
		ctx = next.RoundContext(ctx, e)
	}
	opts := []trace.SpanStartOption{trace.WithAttributes(append(of(e),
		attribute.String("mrtr.call.id", e.Call),
		attribute.Int("mrtr.round", e.Round),
		attribute.String("mcp.protocol.version", e.Revision),
		attribute.String("mrtr.client", e.Client),
		attribute.Float64("mrtr.waited", e.Waited.Seconds()),
	)...)}
	parent := ctx
	if e.TraceParent != "" {
		around := trace.SpanContextFromContext(ctx)
		parent = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": e.TraceParent})
		if around.IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: around}))
		}
	}
	spanName := e.Method
	if name := nameOf(e); name != "" {
		spanName += " " + name
	}
	ctx, span := o.tracer.Start(parent, spanName, opts...)
	return context.WithValue(ctx, roundKey{}, &round{span: span})
}

// nameOf has few values: no address of a resource.
func nameOf(e mrtr.Event) string {
	if e.Method == "resources/read" {
		return ""
	}
	return e.Name
}

// of are the attributes that spans and metrics have in common.
func of(e mrtr.Event) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		attribute.String("mcp.method.name", e.Method),
		attribute.String("mrtr.era", e.Era.String()),
	}
	if name := nameOf(e); name != "" {
		attrs = append(attrs, attribute.String("mrtr.name", name))
	}
	if e.Task {
		attrs = append(attrs, attribute.Bool("mrtr.task", true))
	}
	return attrs
}

// outcomes are the events that end a round, by the outcome that metrics name.
var outcomes = map[mrtr.EventKind]string{
	mrtr.QuestionsAsked: "asked",
	mrtr.CallCompleted:  "completed",
	mrtr.CallStopped:    "stopped",
	mrtr.StateRefused:   "refused",
	mrtr.RoundRefused:   "refused",
	mrtr.RoundRepeated:  "repeated",
	mrtr.RoundUnknown:   "unknown",
}

// Observe implements [mrtr.Observer].
func (o *Observer) Observe(ctx context.Context, e mrtr.Event) {
	if o.next != nil {
		defer o.next.Observe(ctx, e)
	}
	r, _ := ctx.Value(roundKey{}).(*round)
	o.metrics.count(ctx, e)
	if r == nil {
		return
	}
	outcome, ends := outcomes[e.Kind]
	if !ends {
		r.add(e)
		return
	}
	if r.ended.Swap(true) {
		return
	}
	o.metrics.round(ctx, e, outcome)
	r.end(e, outcome)
}

// add adds an event to the span.
func (r *round) add(e mrtr.Event) {
	if e.Kind == mrtr.RoundStarted {
		return
	}
	var attrs []attribute.KeyValue
	for key, value := range map[string]string{
		"mrtr.step": e.Handler, "mrtr.question": e.Question, "mrtr.answer": e.Answer, "mrtr.wording": e.Wording, "mrtr.effect": e.Effect,
		"mrtr.reason": e.Reason, "error.type": errorType(e.Err),
	} {
		if value != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	r.span.AddEvent(string(e.Kind), trace.WithAttributes(attrs...))
}

func (r *round) end(e mrtr.Event, outcome string) {
	r.span.SetAttributes(attribute.String("mrtr.outcome", outcome))
	if len(e.Questions) > 0 {
		r.span.SetAttributes(attribute.StringSlice("mrtr.questions", e.Questions))
	}
	if e.StateBytes > 0 {
		r.span.SetAttributes(attribute.Int("mrtr.state.bytes", e.StateBytes))
	}
	if e.Reason != "" {
		r.span.SetAttributes(attribute.String("mrtr.reason", e.Reason))
	}
	if e.Err != nil {
		r.span.SetAttributes(attribute.String("error.type", errorType(e.Err)))
		if !expected(e.Err) {
			r.span.SetStatus(codes.Error, errorType(e.Err))
		}
	}
	r.span.End()
}

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
