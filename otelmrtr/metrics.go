package otelmrtr

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/tasks"
)

// instruments are those that events feed.
type instruments struct {
	rounds, stops, answers, refusals, store, effects, abandoned metric.Int64Counter
	duration, effect, waited                                    metric.Float64Histogram
	state                                                       metric.Int64Histogram
}

func newInstruments(m metric.Meter) (in instruments, err error) {
	for _, c := range []struct {
		to         *metric.Int64Counter
		name, text string
	}{
		{&in.rounds, "mrtr.rounds", "Rounds served, by outcome."},
		{&in.stops, "mrtr.calls.stopped", "Calls that ended without a result, by the type of the error."},
		{&in.answers, "mrtr.answers", "Questions that were answered, or got no answer, by how."},
		{&in.refusals, "mrtr.refusals", "Refused states, principals, requests, rounds and answers, by reason."},
		{&in.store, "mrtr.store.rounds", "Rounds that the store decided about, by outcome."},
		{&in.effects, "mrtr.effects", "Effects that ended, by outcome."},
		{&in.abandoned, "mrtr.calls.abandoned", "Held handlers unwound without an answer, by reason."},
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
var refusals = map[mrtr.EventKind]string{
	mrtr.StateRefused:     "state",
	mrtr.PrincipalRefused: "principal",
	mrtr.RequestRefused:   "request",
	mrtr.RoundRefused:     "round",
	mrtr.AnswerRefused:    "answer",
}

// stored are the events of rounds with a store, by the outcome that the metric names.
var stored = map[mrtr.EventKind]string{
	mrtr.RoundClaimed:     "claimed",
	mrtr.RoundTakenOver:   "taken over",
	mrtr.RoundRepeated:    "repeated",
	mrtr.RoundOrphaned:    "orphaned",
	mrtr.RoundRefused:     "refused",
	mrtr.RoundUnknown:     "unknown",
	mrtr.RoundNotRecorded: "not recorded",
}

// count feeds the counters.
func (in *instruments) count(ctx context.Context, e mrtr.Event) {
	if refused, ok := refusals[e.Kind]; ok {
		in.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("mrtr.refused", refused), attribute.String("mrtr.reason", reasonOf(e))))
	}
	if outcome, ok := stored[e.Kind]; ok {
		in.store.Add(ctx, 1, metric.WithAttributes(attribute.String("mrtr.outcome", outcome)))
	}
	switch e.Kind {
	case mrtr.RoundStarted:
		if e.Waited > 0 {
			in.waited.Record(ctx, e.Waited.Seconds(), metric.WithAttributes(of(e)...))
		}
	case mrtr.QuestionsAsked:
		in.state.Record(ctx, int64(e.StateBytes), metric.WithAttributes(of(e)...))
	case mrtr.QuestionAnswered:
		in.answers.Add(ctx, 1, metric.WithAttributes(append(of(e), attribute.String("mrtr.answer", e.Answer))...))
	case mrtr.CallStopped:
		in.stops.Add(ctx, 1, metric.WithAttributes(append(of(e), attribute.String("error.type", errorType(e.Err)))...))
	case mrtr.CallAbandoned:
		in.abandoned.Add(ctx, 1, metric.WithAttributes(attribute.String("mrtr.reason", e.Reason)))
	}
	if outcome, ok := effects[e.Kind]; ok {
		attrs := metric.WithAttributes(append(of(e), attribute.String("mrtr.outcome", outcome))...)
		in.effects.Add(ctx, 1, attrs)
		if e.Duration > 0 {
			in.effect.Record(ctx, e.Duration.Seconds(), attrs)
		}
	}
}

// effects are the events of effects, by the outcome that the metric names. An effect whose own
// run left it in doubt is counted as failed too, or as done.
var effects = map[mrtr.EventKind]string{
	mrtr.EffectDone:    "done",
	mrtr.EffectFailed:  "failed",
	mrtr.EffectInDoubt: "in doubt",
	mrtr.EffectUndone:  "undone",
	mrtr.StopFailed:    "not undone",
}

// reasonOf has few values. The reason of a RequestRefused may name a resource.
func reasonOf(e mrtr.Event) string {
	var misused *mrtr.UsageError
	switch {
	case e.Kind != mrtr.RequestRefused:
		return e.Reason
	case errors.As(e.Err, &misused):
		return "two handlers under one name"
	}
	return "its arguments have no canonical form"
}

func (in *instruments) round(ctx context.Context, e mrtr.Event, outcome string) {
	attrs := metric.WithAttributes(append(of(e), attribute.String("mrtr.outcome", outcome))...)
	in.rounds.Add(ctx, 1, attrs)
	if e.Duration > 0 {
		in.duration.Record(ctx, e.Duration.Seconds(), attrs)
	}
}

// Watch adds the gauges of a runtime: the handlers that are held and run, the memory
// that held ones take, the rounds whose clients have left, and the requests that are served. They end with the function that
// it returns. The name distinguishes several runtimes.
func (o *Observer) Watch(rt *mrtr.Runtime, name string) (stop func() error, _ error) {
	return watch(o.meter, name, rt.Stats, []gauge[mrtr.Stats]{
		{"mrtr.frames.held", "Handlers that wait for an answer.", "{handler}", func(s mrtr.Stats) int { return s.Held }},
		{"mrtr.frames.size", "Memory of the handlers that wait.", "By", func(s mrtr.Stats) int { return s.HeldBytes }},
		{"mrtr.handlers.running", "Linear handlers that run.", "{handler}", func(s mrtr.Stats) int { return s.Running }},
		{"mrtr.rounds.orphaned", "Rounds that go on though their clients have left.", "{round}", func(s mrtr.Stats) int { return s.Orphans }},
		{"mrtr.rounds.running", "Requests that are served.", "{request}", func(s mrtr.Stats) int { return s.Rounds }},
	})
}

// WatchTasks adds the gauges of the tasks of a server: those that are open, and those that
// are worked on here. The others wait for their users.
func (o *Observer) WatchTasks(m *tasks.Manager, name string) (stop func() error, _ error) {
	return watch(o.meter, name, m.Stats, []gauge[tasks.Stats]{
		{"mrtr.tasks.open", "Tasks that were created here and have not ended.", "{task}", func(s tasks.Stats) int { return s.Open }},
		{"mrtr.tasks.working", "Tasks with a round that runs here.", "{task}", func(s tasks.Stats) int { return s.Working }},
	})
}

// gauge shows one value of some statistics.
type gauge[S any] struct {
	name, text, unit string
	value            func(S) int
}

func watch[S any](meter metric.Meter, name string, stats func() S, gauges []gauge[S]) (stop func() error, _ error) {
	observables := make([]metric.Observable, 0, len(gauges))
	for _, g := range gauges {
		observable, err := meter.Int64ObservableGauge(g.name, metric.WithDescription(g.text), metric.WithUnit(g.unit))
		if err != nil {
			return nil, err
		}
		observables = append(observables, observable)
	}
	attrs := metric.WithAttributes(attribute.String("mrtr.runtime", name))
	registration, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		now := stats()
		for i, g := range gauges {
			to.ObserveInt64(observables[i].(metric.Int64Observable), int64(g.value(now)), attrs)
		}
		return nil
	}, observables...)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}
