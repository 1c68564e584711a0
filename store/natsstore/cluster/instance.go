package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// instanceVariable holds the settings of a process that is an instance.
const instanceVariable = "CLUSTER_INSTANCE"

type settings struct {
	Name, NATS, Key string
	// Audit is a file with a line for each lookup, which begins with the idempotency key.
	// All instances share it, as they would a payment system.
	Audit string
}

const (
	toolName = "weather"
	// lease is short, so that nobody waits long for a dead instance.
	lease = 2 * time.Second
	// drain is how long running requests may take at the end.
	drain = 3 * time.Second
)

// runInstance serves until the standard input ends.
func runInstance(text string) error {
	signal.Ignore(os.Interrupt) // Ctrl-C reaches all processes; the first one stops the others
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	nc, err := nats.Connect(s.NATS, nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	rounds, err := natsstore.Open(context.Background(), nc, nil)
	if err != nil {
		return err
	}
	key, err := statecodec.ParseKey(s.Key)
	if err != nil {
		return err
	}
	rt, err := mrtr.New(&mrtr.Options{
		Store: rounds, Remember: &mrtr.RememberOptions{Lease: lease},
		State:    &statecodec.Options{Keys: []statecodec.Key{key}},
		Observer: s,
	})
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "cluster", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: toolName, Description: "The weather at a place."},
		mrtr.Tool(rt, mrtr.Journal(s.weather), &mrtr.HandlerOptions{Needs: options.Always}))
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: true})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = web.Serve(listener) }()
	fmt.Printf("http://%s\n", listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	_ = handler.Shutdown(ctx) // it cancels the calls that take longer
	return errors.Join(web.Close(), rt.Close())
}

func (s settings) say(format string, args ...any) {
	say(os.Stderr, "instance "+s.Name, format, args...)
}

// Observe prints the events of calls.
func (s settings) Observe(_ context.Context, e mrtr.Event) {
	switch e.Kind {
	case mrtr.RoundClaimed:
		s.say("claims round %d", e.Round)
	case mrtr.RoundTakenOver:
		s.say("hears nothing of the other for a lease, and takes round %d over", e.Round)
	case mrtr.QuestionsAsked:
		s.say("asks %s", strings.Join(e.Questions, ", "))
	case mrtr.CallCompleted:
		s.say("completes the call")
	}
}

// weather is the tool as linear code. Its effect can be looked up, so no instance that
// dies leaves anybody in doubt.
func (s settings) weather(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
	which, err := options.WhichPlace(q.Location)
	if err != nil {
		return options.Report{}, err
	}
	place, err := mrtr.Ask(ctx, c, which)
	if err != nil {
		return options.Report{}, err
	}
	_, err = mrtr.Once(ctx, c, "audit", func(_ context.Context, idem string) (bool, error) {
		return true, s.write(idem + " looked up " + place + "\n")
	}, &mrtr.EffectOptions[bool]{Check: s.wasWritten})
	if err != nil {
		return options.Report{}, err
	}
	units, err := mrtr.Ask(ctx, c, options.Units)
	return options.NewReport(place, units), err
}

// write is the effect.
func (s settings) write(line string) error {
	file, err := os.OpenFile(s.Audit, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	s.say("writes the audit line")
	say(os.Stderr, "", "SIGKILL: instance %s ends before it can remember that it did", s.Name)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	_ = self.Kill()
	select {} // the signal is on its way
}

// wasWritten is asked when an earlier attempt was cut off.
func (s settings) wasWritten(_ context.Context, idem string) (written, happened bool, err error) {
	text, err := os.ReadFile(s.Audit)
	if happened = strings.Contains(string(text), idem); happened {
		s.say("looks for the audit line: it is there, so it writes none")
	}
	return happened, happened, err
}
