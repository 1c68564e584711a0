package otelmrtr

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// instruments are those that events feed.
type instruments struct {
	rounds, stops, answers, reasks, refusals, door, store, effects, abandoned, released, first metric.Int64Counter
	duration, effect, waited, asked                                                            metric.Float64Histogram
	state                                                                                      metric.Int64Histogram

	keys map[string]bool // that metrics name
	sets *sets
}

func newInstruments(m metric.Meter, keys []string) (in instruments, err error) {
	in.sets = &sets{made: map[labels]metric.MeasurementOption{}}
	in.keys = make(map[string]bool, len(keys))
	for _, key := range keys {
		in.keys[key] = true
	}
	for _, c := range []struct {
		to         *metric.Int64Counter
		name, text string
	}{
		{&in.rounds, "mrtr.rounds", "Rounds served, by outcome."},
		{&in.stops, "mrtr.calls.stopped", "Calls that ended without a result, by the type of the error."},
		{&in.answers, "mrtr.answers", "Questions that were answered, or got no answer, by how."},
		{&in.reasks, "mrtr.reasks", "Answers that were missing or did not fit, by question."},
		{&in.refusals, "mrtr.refusals", "Refused states, principals, requests and rounds, by reason."},
		{&in.door, "mrtr.door.refusals", "Requests that a transport refused, by reason."},
		{&in.store, "mrtr.store.rounds", "Rounds that the store decided about, by outcome."},
		{&in.effects, "mrtr.effects", "Effects that ended, by outcome."},
		{&in.abandoned, "mrtr.calls.abandoned", "Calls that nobody went on with, by reason."},
		{&in.released, "mrtr.frames.released", "Held handlers unwound whose calls go on, by reason."},
		{&in.first, "mrtr.calls.first", "First requests, and what became of those that others had sent, by outcome."},
	} {
		if *c.to, err = m.Int64Counter(c.name, metric.WithDescription(c.text)); err != nil {
			return in, err
		}
	}
	for _, h := range []struct {
		to         *metric.Float64Histogram
		name, text string
		bounds     []float64
	}{
		{&in.duration, "mrtr.round.duration", "Time that a round took here.", []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 60}},
		{&in.effect, "mrtr.effect.duration", "Time that an effect took.", []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60}},
		{&in.asked, "mrtr.store.duration", "Time that an operation of the store took.", []float64{.0005, .001, .005, .01, .05, .1, .25, .5, 1, 2, 5}},
		{&in.waited, "mrtr.user.wait", "Time between two rounds: that of the user.", []float64{1, 2, 5, 10, 30, 60, 300, 900, 3600}},
	} {
		if *h.to, err = m.Float64Histogram(h.name, metric.WithDescription(h.text), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(h.bounds...)); err != nil {
			return in, err
		}
	}
	in.state, err = m.Int64Histogram("mrtr.state.size", metric.WithDescription("Size of the states that went out."),
		metric.WithUnit("By"), metric.WithExplicitBucketBoundaries(256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536))
	return in, err
}

// refusals names the thing that each event refuses.
var refusals = map[observe.Kind]string{
	observe.StateRefused:     "state",
	observe.PrincipalRefused: "principal",
	observe.RequestRefused:   "request",
	observe.RoundRefused:     "round",
}

// firsts are the events of first requests. Many that joined come from a client that plays whole
// calls again; many calls that were split, from users who share a principal. Which client that is
// stands in the log: nothing that a client sends is a label.
var firsts = map[observe.Kind]string{
	observe.RoundStarted: "sent",
	observe.CallJoined:   "joined",
	observe.CallSplit:    "split",
	observe.KeyRefused:   "key refused",
}

// stored are the events of rounds with a store, by the outcome that the metric names.
var stored = map[observe.Kind]string{
	observe.RoundClaimed:     "claimed",
	observe.RoundTakenOver:   "taken over",
	observe.RoundRepeated:    "repeated",
	observe.RoundOrphaned:    "orphaned",
	observe.RoundRefused:     "refused",
	observe.RoundUnknown:     "unknown",
	observe.RoundNotRecorded: "not recorded",
}

// count feeds the counters.
func (in *instruments) count(ctx context.Context, e *observe.Event) {
	with := func(more ...label) metric.MeasurementOption { return in.sets.of(e, more...) }
	if refused, ok := refusals[e.Kind]; ok {
		in.refusals.Add(ctx, 1, with(label{"mrtr.refused", refused}, label{"mrtr.reason", reasonOf(e)}))
	}
	if outcome, ok := firsts[e.Kind]; ok && (e.Kind != observe.RoundStarted || e.Round == 1) {
		in.first.Add(ctx, 1, with(label{"mrtr.outcome", outcome}))
	}
	if outcome, ok := stored[e.Kind]; ok {
		in.store.Add(ctx, 1, with(label{"mrtr.outcome", outcome}))
	}
	switch e.Kind {
	case observe.StoreAsked:
		in.asked.Record(ctx, e.Duration.Seconds(), in.sets.of(&observe.Event{}, label{"mrtr.operation", e.Operation}, label{"mrtr.outcome", storeOutcome(e)}))
	case observe.AnswerRefused:
		in.reasks.Add(ctx, 1, with(label{"mrtr.question", in.key(e.Question)}, label{"mrtr.reason", e.Reason}))
	case observe.RoundStarted:
		if e.Waited > 0 {
			in.waited.Record(ctx, e.Waited.Seconds(), with())
		}
	case observe.QuestionsAsked:
		if e.StateBytes > 0 { // that of a legacy client stays here
			in.state.Record(ctx, int64(e.StateBytes), with())
		}
	case observe.QuestionAnswered:
		in.answers.Add(ctx, 1, with(label{"mrtr.question", in.key(e.Question)}, label{"mrtr.answer", e.Answer}))
	case observe.CallStopped:
		in.stops.Add(ctx, 1, with(label{"error.type", errorType(e.Err)}))
	case observe.CallAbandoned:
		in.abandoned.Add(ctx, 1, with(label{"mrtr.reason", e.Reason}))
	case observe.FrameReleased:
		in.released.Add(ctx, 1, with(label{"mrtr.reason", e.Reason}))
	}
	if outcome, ok := effects[e.Kind]; ok {
		attrs := with(label{"mrtr.effect", in.key(e.Effect)}, label{"mrtr.outcome", outcome})
		in.effects.Add(ctx, 1, attrs)
		if e.Duration > 0 {
			in.effect.Record(ctx, e.Duration.Seconds(), attrs)
		}
	}
}

// effects are the events of effects, by the outcome that the metric names. An effect whose own
// run left it in doubt is counted as failed too, or as done.
var effects = map[observe.Kind]string{
	observe.EffectDone:      "done",
	observe.EffectFailed:    "failed",
	observe.EffectInDoubt:   "in doubt",
	observe.EffectUndone:    "undone",
	observe.EffectNotUndone: "not undone",
}

// key is the key of a question or effect if metrics name it.
func (in *instruments) key(key string) string {
	if in.keys[key] {
		return key
	}
	return "other"
}

func storeOutcome(e *observe.Event) string {
	if e.Err != nil {
		return "failed"
	}
	return "done"
}

// Refused counts a request that a transport refused, and is for the Refused option of
// mcphttp.HandlerOptions and wstransport.HandlerOptions.
func (o *Observer) Refused(reason string) {
	o.metrics.door.Add(context.Background(), 1, metric.WithAttributes(attribute.String("mrtr.reason", reason)))
}

// reasonOf has few values. The reason of a RequestRefused may name a resource.
func reasonOf(e *observe.Event) string {
	var misused *mrtr.UsageError
	switch {
	case e.Kind != observe.RequestRefused:
		return e.Reason
	case errors.As(e.Err, &misused):
		return "two handlers under one name"
	}
	return "its arguments have no canonical form"
}

func (in *instruments) round(ctx context.Context, e *observe.Event, outcome string) {
	attrs := in.sets.of(e, label{"mrtr.outcome", outcome})
	in.rounds.Add(ctx, 1, attrs)
	if e.Duration > 0 {
		in.duration.Record(ctx, e.Duration.Seconds(), attrs)
	}
}
