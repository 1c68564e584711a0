package otelmrtr

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/tasks"
)

// Watch adds the gauges of a runtime: the handlers that are held and run, the memory
// that held ones take, the rounds whose clients have left, the requests that are served, and
// the calls that wait for their users. They end with the function that
// it returns. The name distinguishes several runtimes.
func (o *Observer) Watch(rt *mrtr.Runtime, name string) (stop func() error, _ error) {
	return watch(o.meter, name, rt.Stats, rt.Waiting, []gauge[listen.Stats]{
		{"mrtr.frames.held", "Handlers that wait for an answer.", "{handler}", func(s listen.Stats) int { return s.Held }},
		{"mrtr.frames.size", "Memory of the handlers that wait.", "By", func(s listen.Stats) int { return s.HeldBytes }},
		{"mrtr.handlers.running", "Linear handlers that run.", "{handler}", func(s listen.Stats) int { return s.Running }},
		{"mrtr.rounds.orphaned", "Rounds that go on though their clients have left.", "{round}", func(s listen.Stats) int { return s.Orphans }},
		{"mrtr.rounds.running", "Requests that are served.", "{request}", func(s listen.Stats) int { return s.Rounds }},
	})
}

// WatchTasks adds the gauges of the tasks of a server: those that are open, those that
// are worked on here, and those that wait for their users.
func (o *Observer) WatchTasks(m *tasks.Manager, name string) (stop func() error, _ error) {
	waiting := func() (all []listen.Waiting) {
		for _, w := range m.Waiting() {
			all = append(all, listen.Waiting{Method: "tools/call", Name: w.Tool, Era: era.Modern, Way: listen.WayTask, Calls: w.Tasks, Longest: w.Longest})
		}
		return all
	}
	return watch(o.meter, name, m.Stats, waiting, []gauge[tasks.Stats]{
		{"mrtr.tasks.open", "Tasks that were created here and have not ended.", "{task}", func(s tasks.Stats) int { return s.Open }},
		{"mrtr.tasks.working", "Tasks with a round that runs here.", "{task}", func(s tasks.Stats) int { return s.Working }},
	})
}

// gauge shows one value of some statistics.
type gauge[S any] struct {
	name, text, unit string
	value            func(S) int
}

func watch[S any](meter metric.Meter, name string, stats func() S, waiting func() []listen.Waiting, gauges []gauge[S]) (stop func() error, _ error) {
	observables := make([]metric.Observable, 0, len(gauges)+2)
	for _, g := range gauges {
		observable, err := meter.Int64ObservableGauge(g.name, metric.WithDescription(g.text), metric.WithUnit(g.unit))
		if err != nil {
			return nil, err
		}
		observables = append(observables, observable)
	}
	calls, err := meter.Int64ObservableGauge("mrtr.calls.waiting", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for their users here, by the way in which they wait."))
	if err != nil {
		return nil, err
	}
	longest, err := meter.Float64ObservableGauge("mrtr.calls.waiting.longest", metric.WithUnit("s"),
		metric.WithDescription("How long the longest of those has waited."))
	if err != nil {
		return nil, err
	}
	observables = append(observables, calls, longest)
	runtime := attribute.String("mrtr.runtime", name)
	registration, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		now := stats()
		for i, g := range gauges {
			to.ObserveInt64(observables[i].(metric.Int64Observable), int64(g.value(now)), metric.WithAttributes(runtime))
		}
		for attrs, w := range summed(waiting()) {
			with := metric.WithAttributeSet(attribute.NewSet(append(attrs.ToSlice(), runtime)...))
			to.ObserveInt64(calls, int64(w.calls), with)
			to.ObserveFloat64(longest, w.longest.Seconds(), with)
		}
		return nil
	}, observables...)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}

type wait struct {
	calls   int
	longest time.Duration
}

// summed are waiting calls by their attributes: resources have no name in them.
func summed(waiting []listen.Waiting) map[attribute.Set]wait {
	all := map[attribute.Set]wait{}
	for _, w := range waiting {
		set := attribute.NewSet(append(of(&observe.Event{Method: w.Method, Name: w.Name, Era: w.Era}), attribute.String("mrtr.way", w.Way))...)
		sum := all[set]
		all[set] = wait{sum.calls + w.Calls, max(sum.longest, w.Longest)}
	}
	return all
}
