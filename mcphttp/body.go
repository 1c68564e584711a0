package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/era"
)

// maxBatch is how many messages a POST may hold. Only revision 2025-03-26 knows
// batches at all.
const maxBatch = 100

// maxMembers is how many members of params are searched for a _meta, which is more
// than any request has. A modern request that hides it further down goes to a
// session, where go-sdk refuses it too, with a less helpful error.
const maxMembers = 100

var errLongBatch = fmt.Errorf("batch exceeds %d messages", maxBatch)

// contents are the facts about a body that routing needs.
type contents struct {
	modern bool         // a call whose _meta names a modern revision
	calls  []jsonrpc.ID // of requests that await a response
}

// peek reads as much of a body as routing needs, and reads it as go-sdk will: a
// call that only one of the two sees would outlive the client that hung up on
// it, and a drain would not wait for it. A body that it cannot read is an error.
func peek(body []byte) (contents, error) {
	messages, err := split(body)
	if err != nil {
		return contents{}, err
	}
	var found contents
	for _, raw := range messages {
		// Not encoding/json, which takes "Method" for "method".
		message, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return contents{}, err
		}
		call, ok := message.(*jsonrpc.Request)
		if !ok || !call.IsCall() {
			continue
		}
		found.calls = append(found.calls, call.ID)
		if era.MetaVersion(paramsMeta(call.Params)) >= era.FirstModern {
			found.modern = true
		}
	}
	return found, nil
}

// split parts a batch into its messages, and stops where there are too many. Like
// go-sdk it ignores everything after the first JSON value of the body.
func split(body []byte) ([]json.RawMessage, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return []json.RawMessage{body}, nil
	}
	var messages []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		if len(messages) == maxBatch {
			return nil, errLongBatch
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		messages = append(messages, raw)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, errors.New("empty batch")
	}
	return messages, nil
}

// paramsMeta reads the _meta of params by its exact name. Where there are
// several, each adds to the one before, as they do in go-sdk.
func paramsMeta(params json.RawMessage) map[string]any {
	d := json.NewDecoder(bytes.NewReader(params))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var meta map[string]any
	var other json.RawMessage
	for n := 0; d.More(); n++ {
		name, err := d.Token()
		if err != nil || n == maxMembers {
			return nil
		}
		var value any = &other
		if name == "_meta" {
			value = &meta
		}
		if d.Decode(value) != nil {
			return nil
		}
	}
	return meta
}

// wholeBody reads the body of a POST. Where it returns false it has answered the
// request.
func wholeBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("request body exceeds %d bytes", limit), http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "failed to read body", http.StatusBadRequest)
		}
		return nil, false
	}
	return body, true
}

// readBody reads the body of a POST, puts it back for the next reader, and returns
// its contents. Where it returns false it has answered the request.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) (contents, bool) {
	body, ok := wholeBody(w, r, limit)
	if !ok || refuseAltered(w, body) {
		return contents{}, false
	}
	found, err := peek(body)
	switch {
	case errors.Is(err, errLongBatch):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return contents{}, false
	case err != nil:
		http.Error(w, fmt.Sprintf("malformed payload: %v", err), http.StatusBadRequest)
		return contents{}, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return found, true
}
