package otelmrtr

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mrtr-go/sdk/mrtr/observe"
)

// label is an attribute of a metric, with a text.
type label struct{ key, value string }

// labels are all that one measurement has: those of the event's tool, and two more at most.
type labels struct {
	method, name, era string
	task              bool
	more              [2]label
}

// sets keeps the attributes of measurements as the SDK takes them, since to sort them anew for
// each one is most of its cost. There are few.
type sets struct {
	mu   sync.RWMutex
	made map[labels]metric.MeasurementOption
}

// maxSets bounds what is kept, whatever the names of tools are.
const maxSets = 4096

// of are the attributes for an event. The zero event has no tool.
func (s *sets) of(e *observe.Event, more ...label) metric.MeasurementOption {
	l := labels{method: e.Method, name: nameOf(e), era: e.Era.String(), task: e.Task}
	copy(l.more[:], more)
	s.mu.RLock()
	option := s.made[l]
	s.mu.RUnlock()
	if option != nil {
		return option
	}
	var attrs []attribute.KeyValue
	if e.Method != "" {
		attrs = of(e)
	}
	for _, m := range more {
		attrs = append(attrs, attribute.String(m.key, m.value))
	}
	option = metric.WithAttributeSet(attribute.NewSet(attrs...))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.made) < maxSets {
		s.made[l] = option
	}
	return option
}
