package prove_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// An inn drafts a booking, asks whether to book, and charges. What it does when an equal first
// request comes is its rule.
type inn struct {
	rule string

	mu      sync.Mutex
	effects map[string]int
	waiting map[string]*stay // calls that nobody has answered, by what their first request means
	handles map[string]*stay // what each state stands for
	keyed   map[string]*stay // calls by the key of their client
}

// stay is a call.
type stay struct{ meaning, receipt string }

const (
	joins       = "it joins the call that waits"
	repeats     = "it is a call of its own"
	joinsForAll = "it joins the call that waits, whoever has begun that"
	merges      = "all answers are those of one call"
	mergesUsers = "all answers are those of one call, whoever gives them"
	keeps       = "it is the call that had its key"
)

func (d *inn) serve(who string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "inn", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "stay", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if req.Params.RequestState == "" {
			key, _ := req.Params.Meta["key"].(string)
			return d.begin(who, key), nil
		}
		return d.answer(req.Params)
	})
	return server
}

func (d *inn) begin(meaning, key string) *mcp.CallToolResult {
	if d.rule == keeps && key != "" {
		if d.keyed[key] == nil {
			d.keyed[key] = d.draft(key)
		}
		if receipt := d.keyed[key].receipt; receipt != "" {
			return told(receipt)
		}
		return d.ask(d.keyed[key])
	}
	if d.rule == joinsForAll || d.rule == mergesUsers {
		meaning = "whoever it is"
	}
	call := d.waiting[meaning]
	if call == nil || d.rule == repeats {
		call = d.draft(meaning)
	}
	return d.ask(call)
}

func (d *inn) draft(meaning string) *stay {
	d.effects["draft"]++
	d.waiting[meaning] = &stay{meaning: meaning}
	return d.waiting[meaning]
}

func (d *inn) ask(call *stay) *mcp.CallToolResult {
	state := rand.Text()
	own := *call
	if d.rule == merges || d.rule == mergesUsers || d.keyed[call.meaning] != nil {
		d.handles[state] = call
	} else {
		d.handles[state] = &own
	}
	var params *mcp.ElicitParams
	if err := json.Unmarshal([]byte(`{"message":"Book?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}}`), &params); err != nil {
		panic(err)
	}
	return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{"sure": params}}
}

func (d *inn) answer(p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	call := d.handles[p.RequestState]
	if call == nil {
		return failing("that state is not good"), nil
	}
	sure, action := valueOf[bool](p, "sure")
	switch {
	case action == "":
		return d.ask(call), nil
	case !sure:
		return told("Nothing was booked."), nil
	case call.receipt != "":
		return told(call.receipt), nil
	}
	if d.waiting[call.meaning] == nil { // another answer has taken the draft
		d.draft(call.meaning)
	}
	call.receipt = "Booked: " + rand.Text()
	d.effects["charge"]++
	delete(d.waiting, call.meaning)
	return told(call.receipt), nil
}

func told(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// A server that repeats what a whole call played again has done, and one that takes two calls for
// one, are told apart from one that does neither, and each is condemned for its own mistake.
func TestAWholeCallPlayedAgainIsJudgedByItsEffects(t *testing.T) {
	for _, tc := range []struct{ rule, key, broken string }{
		{joins, "", ""}, {joinsForAll, "", ""}, {repeats, "", "replay/whole-call"}, {merges, "", "once/merged"}, {mergesUsers, "", "once/merged"},
		{keeps, "key", ""}, {joins, "key", "replay/whole-call"},
	} {
		t.Run(tc.rule+tc.key, inBubble(func(t *testing.T) {
			d := &inn{rule: tc.rule, effects: map[string]int{}, waiting: map[string]*stay{}, handles: map[string]*stay{}, keyed: map[string]*stay{}}
			report := must(prove.Run(t.Context(), prove.Subject{
				Dial: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
					here, there := mcp.NewInMemoryTransports()
					_, err := d.serve(who.Name).Connect(context.WithoutCancel(ctx), there, nil)
					return &prove.Endpoint{Transport: here}, err
				},
				First: &prove.Caller{Name: "ann"}, Other: &prove.Caller{Name: "bob"},
				Effects: func(context.Context) (map[string]int, error) {
					d.mu.Lock()
					defer d.mu.Unlock()
					return maps.Clone(d.effects), nil
				},
			}, prove.Scenario{Tool: "stay", Key: tc.key}, &prove.Options{Only: []string{"once/merged", "replay/whole-call"}}))(t)
			for _, rule := range []string{"once/merged", "replay/whole-call"} {
				want := prove.Pass
				if rule == tc.broken {
					want = prove.Fail
				}
				require.Equal(t, want, of(t, report, rule).Outcome, report.String())
			}
		}))
	}
}
