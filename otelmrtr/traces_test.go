package otelmrtr_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// own is what a client sends in a later round: a trace of another name, as a new request has.
var own = strings.Replace(parent, "4bf92f35", "abcdef01", 1)

// traced is a fleet of two instances that share keys, and one exporter of spans.
type traced struct {
	t      *testing.T
	tracer trace.Tracer
	spans  *tracetest.InMemoryExporter
	tools  []mcp.ToolHandlerFor[trip, seat]
	bags   []string // the baggage of each round
	mine   string   // that of the server's own context
}

var meal = mrtr.Choose("meal", "Which meal?", mrtr.Choices("fish", "bread")...)

func newTraced(t *testing.T, o otelmrtr.Options) *traced {
	f := &traced{t: t, spans: tracetest.NewInMemoryExporter()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(f.spans), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	f.tracer = provider.Tracer("test")
	o.TracerProvider, o.MeterProvider = provider, metric.NewMeterProvider()
	key := statecodec.GenerateKey()
	for range 2 {
		observer, err := otelmrtr.New(&o)
		require.NoError(t, err)
		rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(observer), State: &statecodec.Options{Keys: []statecodec.Key{key}}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, rt.Close()) })
		f.tools = append(f.tools, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ trip) (*mrtr.IncompleteResult, seat, error) {
			f.bags = append(f.bags, sorted(baggage.FromContext(ctx)))
			v, ok := mrtr.Answer(c, where)
			if !ok {
				return mrtr.Need(where), seat{}, nil
			}
			if _, ok := mrtr.Answer(c, meal); !ok {
				return mrtr.Need(meal), seat{}, nil
			}
			_, inner := f.tracer.Start(ctx, "own")
			inner.End()
			return nil, seat{v}, nil
		}), nil))
	}
	return f
}

// serve makes a request of an instance, as its HTTP server would: in a span of its own, unless
// that has no name.
func (f *traced) serve(instance int, server string, r *mcp.CallToolRequest) (state string, around trace.SpanContext) {
	mine, err := baggage.Parse(f.mine)
	require.NoError(f.t, err)
	ctx := baggage.ContextWithBaggage(f.t.Context(), mine)
	if server != "" {
		var span trace.Span
		ctx, span = f.tracer.Start(ctx, server, trace.WithNewRoot())
		around = span.SpanContext()
		defer span.End()
	}
	res, _, err := f.tools[instance](ctx, r, trip{})
	require.NoError(f.t, err)
	if res == nil {
		return "", around
	}
	return res.RequestState, around
}

// rounds are the spans of the rounds, in their order.
func (f *traced) rounds() (rounds []tracetest.SpanStub) {
	for _, span := range f.spans.GetSpans() {
		if span.Name == "tools/call book" {
			rounds = append(rounds, span)
		}
	}
	return rounds
}

// linked are the traces that a span links.
func linked(span tracetest.SpanStub) (traces []string) {
	for _, l := range span.Links {
		traces = append(traces, l.SpanContext.TraceID().String())
	}
	return traces
}

// A call of three rounds at two instances is one trace, whatever its requests are part of. What
// a round does not stand below it links.
func TestOneTraceACall(t *testing.T) {
	const client, other = "4bf92f3577b34da6a3ce929d0e0e4736", "abcdef0177b34da6a3ce929d0e0e4736"
	for name, c := range map[string]struct {
		public        bool
		first, later  string // trace parents of the client's
		server        string // the name of the span around each request, "" for none
		trace         string // of the call, "" for one that the server begins
		links, linksB []string
	}{
		"nobody traces":                       {},
		"the server does":                     {server: "http", linksB: []string{"around"}},
		"the client does":                     {first: parent, later: parent, trace: client},
		"the client begins another each time": {first: parent, later: own, trace: client, linksB: []string{other}},
		"both do":                             {first: parent, later: own, server: "http", trace: client, links: []string{"around"}, linksB: []string{"around", other}},
		"a stranger does":                     {public: true, first: parent, later: own, links: []string{client}, linksB: []string{other}},
		"a stranger and the server do":        {public: true, first: parent, later: own, server: "http", links: []string{client}, linksB: []string{"around", other}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTraced(t, otelmrtr.Options{Public: c.public})
			state, first := f.serve(0, c.server, request("", "", "", c.first))
			state, second := f.serve(1, c.server, request(state, "seat", "window", c.later))
			_, third := f.serve(0, c.server, request(state, "meal", "fish", c.later))
			rounds := f.rounds()
			require.Len(t, rounds, 3)
			id := rounds[0].SpanContext.TraceID().String()
			switch {
			case c.trace != "":
				require.Equal(t, c.trace, id)
			case c.server != "":
				require.Equal(t, first.TraceID().String(), id)
			default:
				require.NotContains(t, []string{client, other}, id)
			}
			for i, around := range []trace.SpanContext{first, second, third} {
				want := c.links
				if i > 0 {
					want = c.linksB
					require.Equal(t, rounds[0].SpanContext.SpanID(), rounds[i].Parent.SpanID())
				}
				require.Equal(t, id, rounds[i].SpanContext.TraceID().String())
				require.Equal(t, strings.ReplaceAll(strings.Join(want, " "), "around", around.TraceID().String()), strings.Join(linked(rounds[i]), " "), i)
			}
			for _, span := range f.spans.GetSpans() {
				if span.Name == "own" {
					require.Equal(t, rounds[2].SpanContext.SpanID(), span.Parent.SpanID())
				}
			}
		})
	}
}

// sorted are the members of a baggage in their order.
func sorted(b baggage.Baggage) string {
	var members []string
	for _, m := range b.Members() {
		members = append(members, m.String())
	}
	slices.Sort(members)
	return strings.Join(members, ",")
}

// The baggage of a request goes to its handler, and a stranger's does not. What the server's own context
// says stays.
func TestBaggageGoesToTheHandler(t *testing.T) {
	f := newTraced(t, otelmrtr.Options{})
	f.mine = "tenant=mine,zone=1"
	asks := request("", "", "", "")
	asks.Params.Meta["baggage"] = "tenant=a,of=client"
	f.serve(0, "", asks)
	require.Equal(t, []string{"of=client,tenant=mine,zone=1"}, f.bags)
	for public, want := range map[bool][]string{false: {"tenant=a", "tenant=b", ""}, true: {"", "", ""}} {
		f := newTraced(t, otelmrtr.Options{Public: public})
		first := request("", "", "", "")
		first.Params.Meta["baggage"] = "tenant=a"
		state, _ := f.serve(0, "", first)
		second := request(state, "seat", "window", "")
		second.Extra = &mcp.RequestExtra{Header: http.Header{"Baggage": {"tenant=b"}}}
		state, _ = f.serve(1, "", second)
		third := request(state, "meal", "fish", "")
		third.Params.Meta["baggage"] = strings.Repeat("tenant=c,", 1000)
		f.serve(0, "", third)
		require.Equal(t, want, f.bags)
	}
}

// A tracestate is passed on with the trace that it is of, and a stranger's is not. Whether a
// trace is sampled is decided in round one, and holds at every instance.
func TestATraceStateIsKept(t *testing.T) {
	for public, want := range map[bool]string{false: "vendor=1,other=2", true: ""} {
		f := newTraced(t, otelmrtr.Options{Public: public})
		r := request("", "", "", parent)
		r.Params.Meta["tracestate"] = "vendor=1,other=2"
		state, _ := f.serve(0, "", r)
		f.serve(1, "", request(state, "seat", "window", ""))
		require.Len(t, f.rounds(), 2)
		for _, span := range f.rounds() {
			require.Equal(t, want, span.SpanContext.TraceState().String())
			for _, l := range span.Links {
				require.Empty(t, l.SpanContext.TraceState().String())
			}
		}
	}
	f := newTraced(t, otelmrtr.Options{})
	state, _ := f.serve(0, "", request("", "", "", strings.TrimSuffix(parent, "01")+"00"))
	f.serve(1, "", request(state, "seat", "window", own))
	require.Empty(t, f.spans.GetSpans())
}
