package alerts_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// site is some instances of a server, which share a store, keys and a log.
type site struct {
	t       *testing.T
	weather fleet.Weather // of their store
	store   store.Store
	log     logBuffer
	spans   *tracetest.InMemoryExporter
	keys    []statecodec.Key
	on      map[string]*instance
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.b.String()), "\n")
}

func newSite(t *testing.T) *site {
	f := &site{t: t, spans: tracetest.NewInMemoryExporter(), keys: []statecodec.Key{statecodec.GenerateKey()}, on: map[string]*instance{}}
	f.store = fleet.Tapped{Store: fleet.Shared{Store: store.NewMemory(nil)}, Around: f.weather.Around}
	return f
}

// instance is one server with all that this module has for an operator.
type instance struct {
	f        *site
	name     string
	rt       *mrtr.Runtime
	server   *mcp.Server
	observer *otelmrtr.Observer
	registry *prometheus.Registry
	tasks    *tasks.Manager
}

// metricNames are the keys that the metrics of a fleet name.
var metricNames = []string{"seat", "sure", "format", "topic", "pay", "refund", "charge"}

func (f *site) start(name string) *instance {
	f.t.Helper()
	i := &instance{f: f, name: name, registry: prometheus.NewRegistry(), server: mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)}
	reader, err := exporter.New(exporter.WithRegisterer(i.registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo(),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	require.NoError(f.t, err)
	logger := slog.New(slog.NewTextHandler(&f.log, nil)).With("instance", name)
	i.observer, err = otelmrtr.New(&otelmrtr.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(f.spans)), MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)),
		Keys: metricNames, Next: observe.Log(logger, &observe.LogOptions{Principals: true}),
	})
	require.NoError(f.t, err)
	i.rt, err = mrtr.New(&mrtr.Options{
		Listener: observe.With(i.observer), Durable: durable.In(f.store, nil), State: &statecodec.Options{Keys: f.keys},
		Principal: func(context.Context, mcp.Request) (string, error) { return "anna", nil },
	})
	require.NoError(f.t, err)
	f.addTools(i)
	require.NoError(f.t, boundary.Install(i.server, &boundary.Options{Logger: logger}))
	i.tasks, err = tasks.Install(i.server, &tasks.Options{Runtime: i.rt, Logger: logger})
	require.NoError(f.t, err)
	_, err = i.observer.Watch(i.rt, "main")
	require.NoError(f.t, err)
	_, err = i.observer.WatchTasks(i.tasks, "main")
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		_ = i.tasks.Close()
		_ = i.rt.Close()
	})
	f.on[name] = i
	return i
}

type none struct{}

type said struct {
	Text string `json:"text"`
}

var (
	seat   = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	sure   = mrtr.Confirm("sure", "Are you sure?")
	format = mrtr.Choose("format", "Which format?", mrtr.Choices("pdf", "csv")...)
	topic  = mrtr.Choose("topic", "Which topic?", mrtr.Choices("food", "crew")...)
)

func (f *site) addTools(i *instance) {
	held := func(q mrtr.Question[string], effect string) linear.Func[none, said] {
		return func(ctx context.Context, c *mrtr.Call, _ none) (said, error) {
			v, err := linear.Ask(ctx, c, q)
			if err != nil {
				return said{}, err
			}
			return mrtr.Once(ctx, c, effect, func(context.Context, string) (said, error) { return said{v}, nil })
		}
	}
	guarded := func(effect string, do func() error) mrtr.Style[none, said] {
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ none) (*mrtr.IncompleteResult, said, error) {
			yes, ok := mrtr.Answer(c, sure)
			if !ok {
				return mrtr.Need(sure), said{}, nil
			}
			v, err := mrtr.Once(ctx, c, effect, func(context.Context, string) (said, error) { return said{fmt.Sprint(yes)}, do() })
			return nil, v, err
		})
	}
	add := func(name string, s mrtr.Style[none, said], opts *mrtr.HandlerOptions) {
		mcp.AddTool(i.server, &mcp.Tool{Name: name}, mrtr.Tool(i.rt, s, opts))
	}
	add("book", linear.Coroutine(held(seat, "pay")), nil)
	add("survey", linear.Resumable(held(topic, "note")), nil)
	add("refund", guarded("refund", func() error { return nil }), nil)
	add("charge", guarded("charge", func() error { return io.ErrUnexpectedEOF }), nil)
	add("export", mrtr.Native(func(_ context.Context, c *mrtr.Call, _ none) (*mrtr.IncompleteResult, said, error) {
		v, ok := mrtr.Answer(c, format)
		if !ok {
			return mrtr.Need(format), said{}, nil
		}
		return nil, said{v}, nil
	}), &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}})
}

// client connects to an instance.
func (i *instance) client(opts *wire.Options) *wire.Client {
	i.f.t.Helper()
	c, err := wire.Connect(i.f.t.Context(), i.server, opts)
	require.NoError(i.f.t, err)
	i.f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// send is one request of a modern client. answer is that to all questions, nil for none.
func (i *instance) send(tool, state, question string, answer any) *wire.Reply {
	i.f.t.Helper()
	r := wire.Request{Name: tool, Arguments: none{}, State: state}
	if answer != nil {
		r.Responses = map[string]any{question: map[string]any{"action": "accept", "content": map[string]any{question: answer}}}
	}
	reply, err := i.client(nil).Send(i.f.t.Context(), r)
	require.NoError(i.f.t, err)
	return reply
}

// sample is one line of what Prometheus reads.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// series is the sample's name with its labels, in their order.
func (s sample) series() string {
	var b strings.Builder
	for i, k := range sortedKeys(s.labels) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%q", k, s.labels[k])
	}
	return s.name + "{" + b.String() + "}"
}

// scrape is what all instances export, each with its name as Prometheus adds it.
func (f *site) scrape() (all []sample) {
	f.t.Helper()
	for _, name := range sortedKeys(f.on) {
		families, err := f.on[name].registry.Gather()
		require.NoError(f.t, err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				labels := map[string]string{"instance": name}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				add := func(suffix string, value float64, le ...string) {
					own := map[string]string{}
					for k, v := range labels {
						own[k] = v
					}
					if le != nil {
						own["le"] = le[0]
					}
					all = append(all, sample{family.GetName() + suffix, own, value})
				}
				switch {
				case m.GetCounter() != nil:
					add("", m.GetCounter().GetValue())
				case m.GetGauge() != nil:
					add("", m.GetGauge().GetValue())
				case m.GetHistogram() != nil:
					h := m.GetHistogram()
					for _, b := range h.GetBucket() {
						if !math.IsInf(b.GetUpperBound(), 1) {
							add("_bucket", float64(b.GetCumulativeCount()), fmt.Sprint(b.GetUpperBound()))
						}
					}
					add("_bucket", float64(h.GetSampleCount()), "+Inf")
					add("_sum", h.GetSampleSum())
					add("_count", float64(h.GetSampleCount()))
				}
			}
		}
	}
	return all
}
