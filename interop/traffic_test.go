package interop_test

import (
	"encoding/json"
	"sync"
)

const modernRevision = "2026-07-28"

// traffic is what passed between a client and the server during one call, as
// counted outside both.
type traffic struct {
	Calls         int // tools/call, prompts/get and resources/read requests
	ModernCalls   int // those among them that name the modern revision in _meta
	Elicitations  int // elicitation/create requests from the server
	InputRequired int // results of type input_required
	Leaked        int // results with questions or state and another type, or none
}

// counter counts the JSON-RPC messages of one connection. A tap hands over each
// message before it passes it on, so that a client that has its result finds
// everything that led to it counted.
type counter struct {
	mu   sync.Mutex
	seen traffic
}

func (w *counter) fromClient(message []byte) {
	var request struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &request) != nil {
		return
	}
	switch request.Method {
	case "tools/call", "prompts/get", "resources/read":
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Calls++
	if request.Params.Meta["io.modelcontextprotocol/protocolVersion"] == modernRevision {
		w.seen.ModernCalls++
	}
}

func (w *counter) fromServer(message []byte) {
	var sent struct {
		Method string `json:"method"`
		Result struct {
			Type      string          `json:"resultType"`
			Questions json.RawMessage `json:"inputRequests"`
			State     string          `json:"requestState"`
		} `json:"result"`
	}
	if json.Unmarshal(message, &sent) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case sent.Method == "elicitation/create":
		w.seen.Elicitations++
	case sent.Result.Type == "input_required":
		w.seen.InputRequired++
	case sent.Result.Questions != nil || sent.Result.State != "":
		w.seen.Leaked++
	}
}

// take returns the counts since the last take.
func (w *counter) take() traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = traffic{}
	return seen
}
