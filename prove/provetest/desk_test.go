package provetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/prove/provetest"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// trip is the input of the tool book, and booking its output.
type (
	trip struct {
		To string `json:"to"`
	}
	booking struct {
		Text string `json:"text"`
	}
)

// seatQuestion asks for one of two seats.
var seatQuestion = &mcp.ElicitParams{
	Message: "Which seat?",
	RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"seat": map[string]any{"type": "string", "enum": []string{"window", "aisle"}}},
		"required":   []string{"seat"},
	},
}

// serve is a build function for one handler of the tool book.
func serve(handler func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking]) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "book"}, handler(w))
		return server
	}
}

// byHand is the tool as one writes it at first: it asks whoever calls, keeps no state, and
// takes any answer for a seat.
var byHand = serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
	return bookFor(func() { w.Effect("charge") })
})

func bookFor(charge func()) mcp.ToolHandlerFor[trip, booking] {
	return func(_ context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
		answer, _ := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
		if answer == nil {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"seat": seatQuestion}}, booking{}, nil
		}
		if answer.Action != "accept" {
			return nil, booking{Text: "Nothing was booked."}, nil
		}
		charge()
		where, _ := answer.Content["seat"].(string)
		return nil, booking{Text: "Booked to " + in.To + ", " + where + "."}, nil
	}
}

// desk serves the tool book, written on go-sdk without the engine and by the
// rules: it asks nobody who cannot be asked, takes no answer that does not fit, and
// counts in a sealed state how often it has asked.
type desk struct {
	key    []byte
	charge func()
	codec  *statecodec.Codec
}

func (d *desk) server() *mcp.Server {
	key, err := statecodec.NewKey(d.key)
	if err != nil {
		panic(err)
	}
	if d.codec, err = statecodec.New(&statecodec.Options{Keys: []statecodec.Key{key}}); err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, d.book)
	return server
}

func (d *desk) book(_ context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
	asked, err := d.asked(req)
	if err != nil {
		return nil, booking{}, err
	}
	answer, _ := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
	switch {
	case asked == 0 || answer == nil:
		return d.ask(req, asked)
	case answer.Action == "decline" || answer.Action == "cancel":
		return nil, booking{Text: "Nothing was booked."}, nil
	}
	seat, _ := answer.Content["seat"].(string)
	if answer.Action != "accept" || seat != "window" && seat != "aisle" {
		return d.ask(req, asked)
	}
	d.charge()
	return nil, booking{Text: "Booked to " + in.To + ", " + seat + "."}, nil
}

func (d *desk) ask(req *mcp.CallToolRequest, asked int) (*mcp.CallToolResult, booking, error) {
	client := era.ClientOf(req)
	switch {
	case client.Era == era.Modern && !client.Form:
		data := json.RawMessage(`{"requiredCapabilities":{"elicitation":{"form":{}}}}`)
		return nil, booking{}, &jsonrpc.Error{Code: -32021, Message: "Missing required client capability", Data: data}
	case !client.Form:
		return nil, booking{}, errors.New("this client cannot be asked for a seat")
	case asked == 4 || asked == 1 && client.Era != era.Modern: // go-sdk asks a legacy client once
		return nil, booking{}, errors.New("no seat was chosen")
	}
	state, err := d.codec.Seal(binding(req), []byte(strconv.Itoa(asked+1)))
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"seat": seatQuestion}, RequestState: state}, booking{}, err
}

// asked is how often the call has asked.
func (d *desk) asked(req *mcp.CallToolRequest) (int, error) {
	if req.Params.RequestState == "" {
		return 0, nil
	}
	payload, err := d.codec.Open(binding(req), req.Params.RequestState)
	if err != nil {
		return 0, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid or expired requestState"}
	}
	return strconv.Atoi(string(payload))
}

func binding(req *mcp.CallToolRequest) statecodec.Binding {
	b := statecodec.Binding{Method: "tools/call", Target: req.Params.Name, Arguments: req.Params.Arguments}
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		b.Principal = req.Extra.TokenInfo.UserID
	}
	return b
}

// newDesk serves the tool book, which asks for a seat and then charges the card.
func newDesk(w *mrtrtest.World) *mcp.Server {
	d := &desk{key: w.Key(), charge: func() { w.Effect("charge") }}
	return d.server()
}

func TestBook(t *testing.T) {
	provetest.Prove(t, newDesk, prove.Scenario{
		Tool:           "book",
		Arguments:      map[string]any{"to": "Lisbon"},
		OtherArguments: map[string]any{"to": "Oslo"},
		Times:          map[string]int{"charge": 1},
		Repeatable:     true, // it has no store that would know a round that comes again
	})
}

// newHastyDesk ends a call whose answer is missing. The specification says that a server
// SHOULD ask again.
func newHastyDesk(w *mrtrtest.World) *mcp.Server {
	d := &desk{key: w.Key(), charge: func() { w.Effect("charge") }}
	server := d.server()
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
		asked, err := d.asked(req)
		if err == nil && asked > 0 && req.Params.InputResponses["seat"] == nil {
			return nil, booking{Text: "Nothing was booked."}, nil
		}
		return d.book(ctx, req, in)
	})
	return server
}

// A test that accepts one failure, as docs/testing.md shows it.
func TestBookInHaste(t *testing.T) {
	report := provetest.Examine(t, newHastyDesk, bookDinner, nil)
	for _, f := range report.Failures(prove.Ours) {
		if f.Rule.Name == "answer/missing" {
			continue // seats go fast: a user who leaves the question open starts over
		}
		t.Error(f)
	}
	found, _ := report.Of("answer/missing")
	require.Equal(t, prove.Fail, found.Outcome)
}

func TestBookOnce(t *testing.T) {
	script := mrtrtest.Script{Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{
		"seat": {mrtrtest.Missing, mrtrtest.Value("none"), mrtrtest.Value("aisle")},
	}}
	out := mrtrtest.Call(t, newDesk, script, &mrtrtest.Options{FreshInstances: true})
	require.Equal(t, 4, out.Requests)
	out.WantEffects(t, "charge")
}
