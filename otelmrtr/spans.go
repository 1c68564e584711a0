package otelmrtr

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mrtr-go/sdk/mrtr/observe"
)

// RoundContext begins the span of a round. Later rounds are children of round one's span,
// whichever instance runs them.
//
// Round one is a child of the span around its request, such as that of an HTTP server. If a
// trace parent of another trace came with the request, it is a child of that instead, unless
// Public is set. A round links to the span around its request if that isn't its parent, and to
// a trace parent of another trace. Without Public, the handler gets
// the baggage of its request.
func (o *Observer) RoundContext(ctx context.Context, e observe.Event) context.Context {
	if next, ok := o.next.(observe.ContextObserver); ok {
		ctx = next.RoundContext(ctx, e)
	}
	around, came := trace.SpanContextFromContext(ctx), remote(e.Came)
	parent := around
	switch {
	case e.Round > 1 && e.Trace.Parent != "":
		parent = remote(e.Trace)
	case !o.public && e.Trace.Parent != "":
		if first := remote(e.Trace); first.TraceID() != around.TraceID() {
			parent = first
		}
	}
	if o.public { // the rest of it is text of a stranger's
		came = came.WithTraceState(trace.TraceState{})
	}
	opts := []trace.SpanStartOption{
		trace.WithAttributes(append(of(&e),
			attribute.String("mrtr.call.id", e.Call),
			attribute.Int("mrtr.round", e.Round),
			attribute.String("mcp.protocol.version", e.Revision),
			attribute.String("mrtr.client", e.Client),
			attribute.Float64("mrtr.waited", e.Waited.Seconds()),
		)...),
		trace.WithLinks(linksTo(parent, around, came)...),
	}
	if parent.IsRemote() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	spanName := e.Method
	if name := nameOf(&e); name != "" {
		spanName += " " + name
	}
	if e.Baggage != "" && !o.public {
		ctx = withBaggage(ctx, e.Baggage)
	}
	ctx, span := o.tracer.Start(ctx, spanName, opts...)
	return context.WithValue(ctx, roundKey{}, &round{span: span})
}

// withBaggage adds members to the baggage of a context, whose own ones stay as they are: the program
// set those, and a client sends the others.
func withBaggage(ctx context.Context, text string) context.Context {
	own := baggage.FromContext(ctx)
	all := baggage.FromContext(propagation.Baggage{}.Extract(ctx, propagation.MapCarrier{"baggage": text}))
	for _, m := range own.Members() {
		if merged, err := all.SetMember(m); err == nil {
			all = merged
		}
	}
	return baggage.ContextWithBaggage(ctx, all)
}

// RoundTrace is the place of a round's span, for the rounds that follow.
func (o *Observer) RoundTrace(ctx context.Context) observe.Trace {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return observe.Trace{Parent: carrier["traceparent"], State: carrier["tracestate"]}
}

func remote(t observe.Trace) trace.SpanContext {
	if t.Parent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": t.Parent, "tracestate": t.State})
	return trace.SpanContextFromContext(ctx)
}

// linksTo are links to the span around a request, and to the trace that came with it, where a
// round does not stand below them.
func linksTo(parent, around, came trace.SpanContext) (links []trace.Link) {
	if around.IsValid() && around.SpanID() != parent.SpanID() {
		links = append(links, trace.Link{SpanContext: around})
	}
	if came.IsValid() && came.TraceID() != parent.TraceID() && came.TraceID() != around.TraceID() {
		links = append(links, trace.Link{SpanContext: came})
	}
	return links
}

// work makes spans of effects, of their undoing, and of operations of the store, when they have
// ended. A doubt is a span too: it may come when that of its round has ended.
func (o *Observer) work(ctx context.Context, r *round, e *observe.Event) {
	outcome, isEffect := effects[e.Kind]
	name := "effect"
	switch {
	case r == nil || !isEffect && e.Kind != observe.StoreAsked || !r.span.SpanContext().IsSampled():
		return
	case e.Kind == observe.StoreAsked:
		name, outcome = "store "+e.Operation, storeOutcome(e)
	}
	now := time.Now()
	attrs := append(eventAttrs(e), attribute.String("mrtr.outcome", outcome))
	_, span := o.tracer.Start(ctx, name, trace.WithTimestamp(now.Add(-e.Duration)), trace.WithAttributes(attrs...))
	if e.Err != nil && !expected(e.Err) || isDoubt(e.Kind) {
		span.SetStatus(codes.Error, outcome)
	}
	span.End(trace.WithTimestamp(now))
}

// isDoubt reports whether somebody has to look after a call.
func isDoubt(k observe.Kind) bool {
	return k == observe.EffectInDoubt || k == observe.EffectNotUndone || k == observe.RoundNotRecorded || k == observe.RoundUnknown
}

// add adds an event to the span.
func (r *round) add(e *observe.Event) {
	if !r.span.IsRecording() {
		return
	}
	if isDoubt(e.Kind) {
		r.span.SetStatus(codes.Error, string(e.Kind))
	}
	if _, isEffect := effects[e.Kind]; isEffect || e.Kind == observe.RoundStarted || e.Kind == observe.EffectStarted || e.Kind == observe.StoreAsked {
		return // they are spans
	}
	r.span.AddEvent(string(e.Kind), trace.WithAttributes(eventAttrs(e)...))
}

func eventAttrs(e *observe.Event) (attrs []attribute.KeyValue) {
	for _, a := range []struct{ key, value string }{
		{"mrtr.step", e.Handler}, {"mrtr.question", e.Question}, {"mrtr.answer", e.Answer}, {"mrtr.wording", e.Wording},
		{"mrtr.effect", e.Effect}, {"mrtr.reason", e.Reason}, {"error.type", errorType(e.Err)},
	} {
		if a.value != "" {
			attrs = append(attrs, attribute.String(a.key, a.value))
		}
	}
	return attrs
}

func (r *round) end(e *observe.Event, outcome string) {
	defer r.span.End()
	if !r.span.IsRecording() {
		return
	}
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
	}
	if e.Err != nil && !expected(e.Err) || isDoubt(e.Kind) {
		r.span.SetStatus(codes.Error, errorType(e.Err))
	}
}
