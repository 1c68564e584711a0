package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// weatherText is the text that ends the call.
const weatherText = "Weather in Lisbon: 22°C, partly cloudy."

var meta = mcp.Meta{
	mcp.MetaKeyProtocolVersion:    "2026-07-28",
	mcp.MetaKeyClientInfo:         map[string]any{"name": "client", "version": "1"},
	mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
}

// round enters a handler as a modern client does, without a transport.
func round(h options.Handler, place, state string, answers map[string]any) (*mcp.CallToolResult, options.Report, error) {
	arguments, err := json.Marshal(options.Query{Location: place})
	if err != nil {
		return nil, options.Report{}, err
	}
	params := &mcp.CallToolParamsRaw{Meta: meta, Name: "weather", Arguments: arguments, RequestState: state}
	if answers != nil {
		params.InputResponses = mcp.InputResponseMap{}
		for key, said := range answers {
			params.InputResponses[key] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: said}}
		}
	}
	return h(context.Background(), &mcp.CallToolRequest{Params: params}, options.Query{Location: place})
}

// ask plays the first round and returns the state.
func ask(h options.Handler) (state string, _ error) {
	res, _, err := round(h, "Lisbon", "", nil)
	if err == nil && len(res.InputRequests) != 1 {
		err = errors.New("nothing is asked")
	}
	if err != nil {
		return "", err
	}
	return res.RequestState, nil
}

// finish plays the last round.
func finish(h options.Handler, state string) error {
	_, report, err := round(h, "Lisbon", state, map[string]any{"units": "metric"})
	if err == nil && report.Text() != weatherText {
		err = fmt.Errorf("the call came to %v", report)
	}
	return err
}

// holder is a coroutine with room for as many held calls as its name says, and a few more.
func holder(name string) (h options.Handler, n int, _ error) {
	n, err := strconv.Atoi(name)
	if err != nil {
		return nil, 0, err
	}
	h, err = style("coroutine", &mrtr.Options{
		Limits: mrtr.Limits{
			MaxFrames:     2 * n, // a quarter is kept for known callers, and these are anonymous
			MaxFrameBytes: max(256<<20, n*4096),
		},
	})
	return h, n, err
}

// holdAll holds as many calls as its name says, measures the memory of each, and
// then resumes each of them once, in the order in which they came.
func holdAll(name string) (made, error) {
	h, n, err := holder(name)
	if err != nil {
		return made{}, err
	}
	// The states belong to the clients. Here they lie in memory that is there
	// before the first measurement.
	const room = 1 << 10
	states, ends := make([]byte, 0, n*room), make([]int, 0, n)
	before := inUse()
	for range n {
		state, err := ask(h)
		if err != nil {
			return made{}, err
		}
		if len(states)+len(state) > cap(states) {
			return made{}, fmt.Errorf("a state of %d characters", len(state))
		}
		states = append(states, state...)
		ends = append(ends, len(states))
	}
	each := float64(inUse()-before) / float64(n)
	at := 0
	for _, end := range ends {
		if err := finish(h, string(states[at:end])); err != nil {
			return made{}, err
		}
		at = end
	}
	return made{strconv.FormatFloat(each, 'f', -1, 64), nil}, nil
}

// inUse is the heap and the stacks, after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// stateLength is how many characters the state has on the wire after as many
// questions as the name says were asked: of the weather in Lisbon one, in
// Springfield two.
func stateLength(name string) (made, error) {
	h, err := style("native", nil)
	if err != nil {
		return made{}, err
	}
	state, err := ask(h)
	if err != nil {
		return made{}, err
	}
	switch name {
	case "1":
	case "2":
		res, _, err := round(h, "Springfield", "", nil)
		if err != nil {
			return made{}, err
		}
		res, _, err = round(h, "Springfield", res.RequestState, map[string]any{"place": "Springfield, Illinois"})
		if err != nil || len(res.InputRequests) != 1 {
			return made{}, fmt.Errorf("the second question is not asked: %v", err)
		}
		state = res.RequestState
	default:
		return unknown(name)
	}
	return made{strconv.Itoa(len(state)), nil}, nil
}
