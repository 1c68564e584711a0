package mcphttp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

const (
	headerPrefix      = "Mcp-"
	nameHeader        = "Mcp-Name"
	paramPrefix       = "Mcp-Param-"
	lastEventIDHeader = "Last-Event-Id" // as net/http spells it

	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// disagreement is the name of a header of the protocol that the request repeats
// with another value; "" where there is none. go-sdk takes the first value, while
// a proxy in front of the server may have judged the request by the last.
func disagreement(header http.Header) string {
	for name, values := range header {
		if len(values) < 2 || !strings.HasPrefix(name, headerPrefix) {
			continue
		}
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			return name
		}
	}
	return ""
}

// refuseDisagreement answers a request whose headers contradict each other: with
// the protocol's error for headers where one of its versions is modern, and in
// plain text else.
func refuseDisagreement(w http.ResponseWriter, r *http.Request, name string) {
	message := fmt.Sprintf("header mismatch: the request has two values of %s", name)
	if !slices.ContainsFunc(r.Header.Values(versionHeader), func(v string) bool { return v >= era.FirstModern }) {
		http.Error(w, message, http.StatusBadRequest)
		return
	}
	writeError(w, nil, mcp.CodeHeaderMismatch, message)
}

// mendHeaders gives go-sdk the headers of a modern POST as it reads them. A name
// in base64 is decoded, which go-sdk does for Mcp-Param headers alone. Last-Event-ID
// is left out, which go-sdk refuses: there is nothing to resume in that revision,
// and a client that sends it anyway is to be served.
func mendHeaders(r *http.Request) *http.Request {
	name, encoded := decodeHeader(r.Header.Get(nameHeader))
	resumes := r.Method == http.MethodPost && len(r.Header.Values(lastEventIDHeader)) > 0
	if !encoded && !resumes {
		return r
	}
	r = r.Clone(r.Context()) // the caller's request stays as it came
	if encoded {
		r.Header.Set(nameHeader, name)
	}
	if resumes {
		r.Header.Del(lastEventIDHeader)
	}
	return r
}

// decodeHeader reads a value in base64. An invalid one is left to go-sdk,
// which compares it as it is and refuses it.
func decodeHeader(value string) (string, bool) {
	text, ok := strings.CutPrefix(value, base64Prefix)
	if !ok {
		return "", false
	}
	if text, ok = strings.CutSuffix(text, base64Suffix); !ok {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	return string(decoded), err == nil
}

// writeError answers with a JSON-RPC error. id is the request's as it was sent,
// nil where it is not known.
func writeError(w http.ResponseWriter, id json.RawMessage, code int64, message string) {
	body, _ := json.Marshal(struct { // strings and numbers, whose encoding cannot fail
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: message}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body) // the client may be gone
}
