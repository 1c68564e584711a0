package otelmrtr_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/otelmrtr"
)

type trip struct {
	To string `json:"to"`
}

type seat struct {
	Seat string `json:"seat"`
}

var where = mrtr.Choose("seat", "Where do you want to sit?", mrtr.Choices("window", "aisle")...)

// A call of two rounds is two spans of the trace that its client began, an effect a third, and
// all of them are numbers.
func Example() {
	ctx := context.Background()
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	observer, err := otelmrtr.New(&otelmrtr.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
		Keys:           []string{"seat", "reserve"}, // that metrics name
	})
	if err != nil {
		log.Fatal(err)
	}
	rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(observer)})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	stop, err := observer.Watch(rt, "main") // with gauges too
	if err != nil {
		log.Fatal(err)
	}
	defer stop()

	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, in trip) (seat, error) {
		v, err := linear.Ask(ctx, c, where)
		if err != nil {
			return seat{}, err
		}
		return mrtr.Once(ctx, c, "reserve", func(context.Context, string) (seat, error) { return seat{v}, nil })
	}), nil))
	client := connect(ctx, server)
	defer client.Close()
	meta := client.Meta()
	meta["traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	book := wire.Request{Params: map[string]any{"_meta": meta, "name": "book", "arguments": trip{To: "Lisbon"}}}
	asked := send(ctx, client, book)
	print(reader, "mrtr.frames.held", "mrtr.calls.waiting") // while the user is asked
	book.Params.(map[string]any)["requestState"] = asked.State
	book.Params.(map[string]any)["inputResponses"], _ = wire.Answers{"seat": wire.Value("window")}.Responses(asked.Asks)
	send(ctx, client, book)

	for _, span := range spans.GetSpans() { // in the order in which they ended
		fmt.Println("span", span.Name, span.SpanContext.TraceID())
	}
	print(reader, "mrtr.rounds", "mrtr.state.size", "mrtr.effects", "mrtr.frames.held")

	// Output:
	// mrtr.calls.waiting{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.runtime=main,mrtr.way=held} 1
	// mrtr.frames.held{mrtr.runtime=main} 1
	// span tools/call book 4bf92f3577b34da6a3ce929d0e0e4736
	// span effect 4bf92f3577b34da6a3ce929d0e0e4736
	// span tools/call book 4bf92f3577b34da6a3ce929d0e0e4736
	// mrtr.effects{mcp.method.name=tools/call,mrtr.effect=reserve,mrtr.era=modern,mrtr.name=book,mrtr.outcome=done} 1
	// mrtr.frames.held{mrtr.runtime=main} 0
	// mrtr.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=asked} 1
	// mrtr.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=completed} 1
	// mrtr.state.size{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book} 1 recorded
}

func connect(ctx context.Context, server *mcp.Server) *wire.Client {
	client, err := wire.Connect(ctx, server, nil)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func send(ctx context.Context, client *wire.Client, r wire.Request) *wire.Reply {
	reply, err := client.Send(ctx, r)
	if err != nil {
		log.Fatal(err)
	}
	return reply
}

// print prints the points of some metrics.
func print(reader metric.Reader, names ...string) {
	for _, line := range points(reader) {
		if name, _, _ := strings.Cut(line, "{"); slices.Contains(names, name) {
			fmt.Println(line)
		}
	}
}

// points are the points of all metrics, as lines.
func points(reader metric.Reader) (lines []string) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	add := func(m metricdata.Metrics, attrs attribute.Set, value any) {
		lines = append(lines, fmt.Sprintf("%s{%s} %v", m.Name, attrs.Encoded(attribute.DefaultEncoder()), value))
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				add(m, p.Attributes, p.Value)
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				add(m, p.Attributes, p.Value)
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				add(m, p.Attributes, fmt.Sprint(p.Count, " recorded"))
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(m, p.Attributes, fmt.Sprint(p.Count, " recorded"))
			}
		}
	}
	sort.Strings(lines)
	return lines
}
