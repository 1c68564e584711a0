package otelmrtr_test

import (
	"context"
	"fmt"
	"log"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

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
	stop, err := observer.Watch(rt, "main")
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
	session := connect(ctx, server, func() {
		var now metricdata.ResourceMetrics
		_ = reader.Collect(ctx, &now)
		print(now, "mrtr.frames.held") // while the user is asked
	})
	defer session.Close()
	_, err = session.CallTool(ctx, &mcp.CallToolParams{
		Meta: mcp.Meta{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Name: "book", Arguments: trip{To: "Lisbon"},
	})
	if err != nil {
		log.Fatal(err)
	}

	names := map[string]string{"00f067aa0ba902b7": "the client's"}
	all := spans.GetSpans()
	for i, round := range []string{"round one", "", "round two"} {
		names[all[i].SpanContext.SpanID().String()] = round
	}
	for _, span := range all {
		fmt.Println("span", span.Name, span.SpanContext.TraceID(), "below", names[span.Parent.SpanID().String()])
		for _, event := range span.Events {
			fmt.Println("    ", event.Name)
		}
		for _, a := range span.Attributes {
			if a.Key == "mrtr.round" || a.Key == "mrtr.outcome" {
				fmt.Println("    ", a.Key, "=", a.Value.Emit())
			}
		}
	}
	var now metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &now); err != nil {
		log.Fatal(err)
	}
	print(now, "mrtr.rounds", "mrtr.state.size", "mrtr.effects", "mrtr.frames.held")

	// Output:
	// mrtr.frames.held{mrtr.runtime=main} 1
	// span tools/call book 4bf92f3577b34da6a3ce929d0e0e4736 below the client's
	//      handler entered
	//      mrtr.round = 1
	//      mrtr.outcome = asked
	// span effect 4bf92f3577b34da6a3ce929d0e0e4736 below round two
	//      mrtr.outcome = done
	// span tools/call book 4bf92f3577b34da6a3ce929d0e0e4736 below round one
	//      question answered
	//      mrtr.round = 2
	//      mrtr.outcome = completed
	// mrtr.effects{mcp.method.name=tools/call,mrtr.effect=reserve,mrtr.era=modern,mrtr.name=book,mrtr.outcome=done} 1
	// mrtr.frames.held{mrtr.runtime=main} 0
	// mrtr.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=asked} 1
	// mrtr.rounds{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book,mrtr.outcome=completed} 1
	// mrtr.state.size{mcp.method.name=tools/call,mrtr.era=modern,mrtr.name=book} 1 recorded
}

// connect connects a client whose user takes the window seat.
func connect(ctx context.Context, server *mcp.Server, asked func()) *mcp.ClientSession {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked()
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "window"}}, nil
		},
	})
	session, err := client.Connect(ctx, clientSide, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

// print prints the points of some metrics.
func print(all metricdata.ResourceMetrics, names ...string) {
	for _, line := range points(all) {
		for _, name := range names {
			if strings.HasPrefix(line, name+"{") {
				fmt.Println(line)
			}
		}
	}
}

// points are the points of all metrics, as lines.
func points(all metricdata.ResourceMetrics) (lines []string) {
	add := func(name string, attrs interface{ Encoded() string }, value any) {
		lines = append(lines, fmt.Sprintf("%s{%s} %v", name, attrs.Encoded(), value))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, encoded{p.Attributes}, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, encoded{p.Attributes}, p.Value)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, encoded{p.Attributes}, fmt.Sprint(p.Count, " recorded"))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, encoded{p.Attributes}, fmt.Sprint(p.Count, " recorded"))
				}
			}
		}
	}
	sort.Strings(lines)
	return lines
}
