package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// floor is as little as a server on net/http can do with the same requests: it reads
// the body, decodes it with encoding/json and writes the bytes that another server
// answered when it was asked the same for the first time.
type floor struct {
	server *mcphttp.Handler // is asked the first time

	mu      sync.Mutex
	answers map[string]answer // by tool, arguments and state
}

type answer struct {
	header http.Header
	body   []byte
}

// message is a request as a server has to know it.
type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		Meta           map[string]any  `json:"_meta"`
		Name           string          `json:"name"`
		Arguments      json.RawMessage `json:"arguments"`
		InputResponses map[string]any  `json:"inputResponses"`
		RequestState   string          `json:"requestState"`
	} `json:"params"`
}

// ServeHTTP implements [http.Handler].
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || m.Method != "tools/call" {
		http.Error(w, "no call", http.StatusBadRequest)
		return
	}
	a := f.answer(r, string(body), m.Params.Name+" "+string(m.Params.Arguments)+m.Params.RequestState)
	maps.Copy(w.Header(), a.header)
	_, _ = w.Write(a.body) // who is gone hears nothing
}

func (f *floor) answer(r *http.Request, body, about string) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.answers[about]
	if !ok {
		recorder, first := httptest.NewRecorder(), r.Clone(r.Context())
		first.Body = io.NopCloser(strings.NewReader(body))
		f.server.ServeHTTP(recorder, first)
		a = answer{recorder.Header(), recorder.Body.Bytes()}
		f.answers[about] = a
	}
	return a
}
