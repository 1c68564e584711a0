package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// NewHTTPWire speaks streamable HTTP with the endpoint, one POST a request. A nil
// client means http.DefaultClient.
func NewHTTPWire(url string, client *http.Client) Wire {
	if client == nil {
		client = http.DefaultClient
	}
	return &httpWire{url: url, client: client}
}

type httpWire struct {
	url    string
	client *http.Client

	mu      sync.Mutex
	session string
	surplus int
}

func (w *httpWire) post(ctx context.Context, req *jsonrpc.Request) (*http.Response, error) {
	body, err := jsonrpc.EncodeMessage(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	var params struct {
		Meta map[string]any `json:"_meta"`
		Name string         `json:"name"`
	}
	_ = json.Unmarshal(req.Params, &params) // a request without params has neither
	if version, ok := params.Meta[metaVersion].(string); ok {
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Method", req.Method)
		if req.Method == "tools/call" {
			r.Header.Set("Mcp-Name", params.Name)
		}
	} else if req.Method != "initialize" {
		r.Header.Set("Mcp-Protocol-Version", LegacyVersion)
	}
	w.mu.Lock()
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	w.mu.Unlock()
	return w.client.Do(r)
}

func (w *httpWire) Exchange(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	res, err := w.post(ctx, req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	frames, err := frames(res)
	if err != nil {
		return nil, err
	}
	var answer *jsonrpc.Response
	for _, frame := range frames {
		msg, err := jsonrpc.DecodeMessage(frame)
		if err != nil {
			return nil, fmt.Errorf("a frame that is no JSON-RPC message: %w", err)
		}
		response, ok := msg.(*jsonrpc.Response)
		switch {
		case !ok:
		case answer == nil && response.ID == req.ID:
			answer = response
		default:
			w.mu.Lock()
			w.surplus++
			w.mu.Unlock()
		}
	}
	if answer == nil {
		return nil, errors.New("the response ended without an answer")
	}
	return answer, nil
}

// frames are the JSON messages of a response: one if it is JSON, one an event if
// it is a stream, which ends when the server has nothing more to say.
func frames(res *http.Response) ([][]byte, error) {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if kind != "text/event-stream" {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		if res.StatusCode/100 != 2 && !json.Valid(body) {
			return nil, fmt.Errorf("HTTP status %s: %s", res.Status, bytes.TrimSpace(body))
		}
		return [][]byte{body}, nil
	}
	var all [][]byte
	lines := bufio.NewReader(res.Body)
	var data []byte
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimRight(line, "\r\n")
		if payload, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(payload, []byte(" "))...)
		} else if len(line) == 0 && len(data) > 0 {
			all, data = append(all, data), nil
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *httpWire) Notify(ctx context.Context, req *jsonrpc.Request) error {
	res, err := w.post(ctx, req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (w *httpWire) Surplus() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.surplus
}

func (w *httpWire) Close() error {
	w.client.CloseIdleConnections()
	return nil
}
