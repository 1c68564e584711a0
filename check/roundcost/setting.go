package roundcost

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// setting is one store, and a tool of two rounds with it and without.
type setting struct {
	store   store.Store
	runtime [2]*mrtr.Runtime
	with    tool
	plain   tool

	written [2]write    // the writes of a remembered round
	names   []store.Key // of the records that are written beside the next calls
	served  int
}

type tool = mcp.ToolHandlerFor[input, output]

type input struct {
	Location string `json:"location"`
}

type output struct {
	Units string `json:"units"`
}

// write is one write to a store.
type write struct {
	key   store.Key
	value []byte
	ttl   time.Duration
}

func begin(b testing.TB, open func() store.Store) *setting {
	b.Helper()
	s := &setting{store: open()}
	var err error
	if s.runtime[0], s.with, err = newTool(s.store, s.store.Scope()); err != nil {
		b.Fatal(err)
	}
	if s.runtime[1], s.plain, err = newTool(nil, s.store.Scope()); err != nil {
		b.Fatal(err)
	}
	if err := s.learn(); err != nil {
		b.Fatal(err)
	}
	return s
}

func (s *setting) end(b testing.TB) {
	for _, rt := range s.runtime {
		if err := rt.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// newTool makes the tool, with the keys that a store of this scope goes with.
func newTool(s store.Store, scope store.Scope) (*mrtr.Runtime, tool, error) {
	opts := &mrtr.Options{Store: s}
	if scope != store.Process {
		key, err := statecodec.NewKey(bytes.Repeat([]byte("key!"), statecodec.MinSecret/4))
		if err != nil {
			return nil, nil, err
		}
		opts.State = &statecodec.Options{Keys: []statecodec.Key{key}}
	}
	rt, err := mrtr.New(opts)
	if err != nil {
		return nil, nil, err
	}
	units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
	return rt, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		chosen, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), output{}, nil
		}
		return nil, output{chosen}, nil
	}), nil), nil
}

// learn notes the writes of a remembered round, so that the bare ones are alike.
func (s *setting) learn() error {
	spy := &recorder{Store: s.store}
	rt, observed, err := newTool(spy, s.store.Scope())
	if err != nil {
		return err
	}
	defer rt.Close()
	if err := call(observed); err != nil {
		return err
	}
	if len(spy.written) != 2 {
		return fmt.Errorf("a remembered round made %d writes, and not 2", len(spy.written))
	}
	s.written = [2]write(spy.written)
	return nil
}

// recorder is a store that notes its writes.
type recorder struct {
	store.Store
	written []write
}

func (r *recorder) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	r.written = append(r.written, write{key, bytes.Clone(value), ttl})
	return r.Store.Create(ctx, key, value, ttl)
}

func (r *recorder) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	r.written = append(r.written, write{key, bytes.Clone(value), ttl})
	return r.Store.Update(ctx, key, at, value, ttl)
}

// name makes the names of the next bare writes: those of rounds, each of another call.
func (s *setting) name(n int) {
	like := s.written[0].key
	owner, rest, _ := strings.Cut(like.Name, ".")
	id, turn, _ := strings.Cut(rest, ".")
	s.names = s.names[:0]
	for range n {
		text := rand.Text() + rand.Text()
		s.names = append(s.names, store.Key{Epoch: like.Epoch, Name: owner + "." + text[:len(id)] + "." + turn})
	}
}

func (s *setting) remembered(n int) error {
	for range n {
		if err := call(s.with); err != nil {
			return err
		}
	}
	return nil
}

func (s *setting) without(n int) error {
	for range n {
		if err := call(s.plain); err != nil {
			return err
		}
	}
	return nil
}

// beside makes the calls without a store, and two bare writes beside each.
func (s *setting) beside(n int) error {
	ctx, first, second := context.Background(), s.written[0], s.written[1]
	for i := range n {
		if err := call(s.plain); err != nil {
			return err
		}
		at, err := s.store.Create(ctx, s.names[i], first.value, first.ttl)
		if err != nil {
			return err
		}
		if _, err := s.store.Update(ctx, s.names[i], at, second.value, second.ttl); err != nil {
			return err
		}
	}
	return nil
}

// call makes a call of two rounds through the tool's handler, as a modern client does.
func call(h tool) error {
	ctx := context.Background()
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	lisbon := json.RawMessage(`{"location":"Lisbon"}`)
	res, _, err := h(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: lisbon}}, input{"Lisbon"})
	if err != nil || len(res.InputRequests) != 1 {
		return fmt.Errorf("nothing is asked: %v, %w", res, err)
	}
	_, out, err := h(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta, Name: "tool", Arguments: lisbon, RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}, input{"Lisbon"})
	if err == nil && out.Units != "metric" {
		err = fmt.Errorf("the call came to %v", out)
	}
	return err
}
