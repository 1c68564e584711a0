package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The state of these servers is signed by hand, for its tool and its arguments: the least
// that the specification asks for.

var key = []byte(rand.Text())

func sign(state string, arguments []byte) string {
	return state + "." + base64.RawURLEncoding.EncodeToString(tag(state, arguments))
}

func tag(state string, arguments []byte) []byte {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, "weather\x00"+state+"\x00")
	mac.Write(arguments)
	return mac.Sum(nil)
}

func verify(signed string, arguments []byte) error {
	state, text, _ := strings.Cut(signed, ".")
	claimed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !hmac.Equal(claimed, tag(state, arguments)) {
		return errors.New("invalid state")
	}
	return nil
}

// goSDK is go-sdk's own front with a handler written by hand.
func goSDK(tools int) (http.Handler, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, func(_ context.Context, req *mcp.CallToolRequest, q query) (*mcp.CallToolResult, report, error) {
		place, err := find(q)
		if err != nil {
			return nil, report{}, err
		}
		if req.Params.RequestState == "" {
			return &mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: whichUnits, RequestedSchema: json.RawMessage(unitsSchema)}},
				RequestState:  sign(place.Location, req.Params.Arguments),
			}, report{}, nil
		}
		if err := verify(req.Params.RequestState, req.Params.Arguments); err != nil {
			return nil, report{}, err
		}
		answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
		if !ok || answer.Action != "accept" {
			return nil, report{}, errors.New("no units")
		}
		units, _ := answer.Content["units"].(string)
		place, err = place.in(units)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: place.Text()}}}, place, err
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}), nil
}

// floor is as little as a server can do: net/http, encoding/json, and a signed state.
func floor(int) (http.Handler, error) {
	type result struct {
		ResultType        string         `json:"resultType"`
		Content           []content      `json:"content,omitempty"`
		StructuredContent *report        `json:"structuredContent,omitempty"`
		InputRequests     map[string]any `json:"inputRequests,omitempty"`
		RequestState      string         `json:"requestState,omitempty"`
	}
	question := map[string]any{"units": map[string]any{
		"method": "elicitation/create",
		"params": map[string]any{"mode": "form", "message": whichUnits, "requestedSchema": json.RawMessage(unitsSchema)},
	}}
	call := func(m *message) (*result, error) {
		var q query
		if err := json.Unmarshal(m.Params.Arguments, &q); err != nil {
			return nil, err
		}
		place, err := find(q)
		if err != nil {
			return nil, err
		}
		if m.Params.RequestState == "" {
			return &result{ResultType: "input_required", InputRequests: question, RequestState: sign(place.Location, m.Params.Arguments)}, nil
		}
		if err := verify(m.Params.RequestState, m.Params.Arguments); err != nil {
			return nil, err
		}
		if place, err = place.in(m.Params.InputResponses["units"].Content["units"]); err != nil {
			return nil, err
		}
		return &result{ResultType: "complete", Content: []content{{"text", place.Text()}}, StructuredContent: &place}, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m message
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		var done *result
		if err == nil {
			done, err = call(&m)
		}
		var text []byte
		if err == nil {
			text, err = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": done})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who is gone hears nothing
	}), nil
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// message is a request as a server has to know it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta           map[string]any  `json:"_meta"`
		Name           string          `json:"name"`
		Arguments      json.RawMessage `json:"arguments"`
		RequestState   string          `json:"requestState"`
		InputResponses map[string]struct {
			Action  string            `json:"action"`
			Content map[string]string `json:"content"`
		} `json:"inputResponses"`
	} `json:"params"`
}
