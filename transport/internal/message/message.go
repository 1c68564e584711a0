// Package message reads and writes JSON-RPC messages as they are on the wire, for
// transports that hand them to go-sdk decoded.
package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// ErrNotJSON is the error of [Decode] for data that is not JSON, or more than one value.
var ErrNotJSON = errors.New("not one JSON value")

// Decode is [jsonrpc.DecodeMessage] for the whole of data, which it does not
// keep: bytes after the first value are an error and not ignored. go-sdk's function
// allocates a 32 KiB buffer twice a request; this one allocates little more than
// the copy of params or result.
//
// Names match exactly. Were "Method" taken for "method", a proxy that reads names
// exactly would see another message.
func Decode(data []byte) (jsonrpc.Message, error) {
	var version, id, method, params, result, failure []byte
	w := jsontext.Walk(data, jsontext.MaxDepth)
	if w.Kind() != '{' {
		w.Value() // has none of the members
	} else {
		for name := range w.Members {
			switch string(name) {
			case "jsonrpc":
				version = w.Value()
			case "id":
				id = w.Value()
			case "method":
				method = w.Value()
			case "params":
				params = w.Value()
			case "result":
				result = w.Value()
			case "error":
				failure = w.Value()
			}
		}
	}
	if !w.End() {
		return nil, ErrNotJSON
	}
	if string(version) != `"2.0"` {
		return nil, errors.New("not JSON-RPC 2.0")
	}
	msgID, err := decodeID(id)
	if err != nil {
		return nil, err
	}
	resp := &jsonrpc.Response{ID: msgID, Result: bytes.Clone(result)}
	if failure != nil { // rare enough for go-sdk's function
		msg, err := jsonrpc.DecodeMessage(slices.Concat([]byte(`{"jsonrpc":"2.0","id":0,"error":`), failure, []byte("}")))
		if err != nil {
			return nil, err
		}
		resp.Error = msg.(*jsonrpc.Response).Error
	}
	if method != nil {
		req := &jsonrpc.Request{ID: msgID, Params: bytes.Clone(params)}
		if err := json.Unmarshal(method, &req.Method); err != nil {
			return nil, errors.New("the method is not a string")
		}
		if req.Method == "notifications/cancelled" && req.Params != nil {
			req.Params = nameLarge(req.Params)
		}
		return req, nil
	}
	if !msgID.IsValid() {
		return nil, errors.New("neither a method nor an id")
	}
	return resp, nil
}

// Append is [jsonrpc.EncodeMessage] into a buffer that is used again. It
// takes Params and Result as they are, for the SDK has just marshalled them.
func Append(buf []byte, msg jsonrpc.Message) ([]byte, error) {
	var id any
	var member string
	var raw json.RawMessage
	buf = append(buf, `{"jsonrpc":"2.0"`...)
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		id, member, raw = msg.ID.Raw(), `,"params":`, msg.Params
		method, err := json.Marshal(msg.Method)
		if err != nil {
			return nil, err
		}
		buf = append(append(buf, `,"method":`...), method...)
	case *jsonrpc.Response:
		if msg.Error != nil {
			data, err := jsonrpc.EncodeMessage(msg)
			return append(buf[:0], data...), err
		}
		id, member, raw = msg.ID.Raw(), `,"result":`, msg.Result
	default:
		return nil, fmt.Errorf("message: cannot encode a %T", msg)
	}
	switch id := id.(type) {
	case nil:
	case int64:
		buf = strconv.AppendInt(append(buf, `,"id":`...), id, 10)
	default:
		data, err := json.Marshal(id)
		if err != nil {
			return nil, err
		}
		buf = append(append(buf, `,"id":`...), data...)
	}
	if len(raw) > 0 {
		buf = append(append(buf, member...), raw...)
	}
	return append(buf, '}'), nil
}

// Event makes an event of a message, as a stream over HTTP carries it.
func Event(body []byte) []byte {
	return append(append([]byte("event: message\ndata: "), body...), "\n\n"...)
}

// Member returns the member of a JSON object that a path of names leads to, the last of each
// name as in go-sdk; nil if there is none. object must be valid JSON.
func Member(object []byte, path ...string) []byte {
	for _, name := range path {
		w := jsontext.Walk(object, jsontext.MaxDepth)
		object = nil
		for member := range w.Members {
			if string(member) == name {
				object = w.Value()
			}
		}
	}
	return object
}

// Text returns the member of a JSON object that is a string, and false if it is none.
func Text(object []byte, name string) (text string, ok bool) {
	value := Member(object, name)
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return string(jsontext.Walk(value, 1).Text()), true
}

// Rejected is the error of a message that a connection does not send, by which go-sdk knows
// that the connection itself is sound.
var Rejected = &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}

// ErrUnpingable is the error of a ping for a client without a session, as those of the
// modern revision are: it has no requests of servers. With it a session lives on under
// mcp.ServerOptions.KeepAlive, which would close it, with the answers of its calls.
var ErrUnpingable = Unpinged(fmt.Errorf("%w: a client without a session is not pinged", Rejected))

// Unpinged is the error of a ping, and if it could not be sent, one that ends go-sdk's
// pings and not its session: nothing was learned about the client.
func Unpinged(err error) error {
	if errors.Is(err, Rejected) {
		return fmt.Errorf("%w: %w", err, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "ping"})
	}
	return err
}

// IsPing reports whether a message is a ping that wants an answer.
func IsPing(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	return ok && req.IsCall() && req.Method == "ping"
}

// What a message may hold and its reader is to ignore is taken out of it in place, since
// go-sdk would do otherwise: it echoes any token of progress, and refuses a whole request
// over one answer that it cannot decode.

// isToken reports whether a token of progress is a text or an exact integer, which are all
// that the specification knows.
func isToken(name, value []byte) bool {
	return string(name) != "progressToken" || value[0] == '"' || IsExactInteger(value)
}

// IsExactInteger reports whether a value is an integer in digits that a float64 holds.
func IsExactInteger(value []byte) bool {
	return isNumber(value) && !bytes.ContainsAny(value, ".eE") && !IsInexact(value)
}

// isAnswer reports whether go-sdk can decode the answer to a question.
func isAnswer(_, value []byte) bool {
	if isUsualAnswer(value) {
		return true
	}
	var answers mcp.InputResponseMap
	return answers.UnmarshalJSON(append(append([]byte(`{"":`), value...), '}')) == nil
}

// isUsualAnswer reports whether an answer is a user's, which spares the decoder.
func isUsualAnswer(value []byte) bool {
	w, action := jsontext.Walk(value, maxDepth), false
	for name := range w.Members {
		ok := false
		switch string(name) {
		case "action":
			action = true
			ok = w.Kind() == '"'
		case "content", "_meta":
			ok = w.Kind() == '{'
		}
		if !ok {
			return false
		}
	}
	return action && w.End()
}

// keepMembers blanks those members of the object at the start of text, and the commas
// between them, that keep refuses.
func keepMembers(text []byte, keep func(name, value []byte) bool) {
	type span struct{ from, to int }
	var out []span
	w := jsontext.Walk(text, maxDepth)
	from, kept := w.Offset()+1, false // of a member, with the comma before it
	for name := range w.Members {
		value := w.Value()
		if value == nil {
			return // no JSON
		}
		to := w.Offset()
		switch {
		case keep(name, value):
			kept = true
		case kept:
			out = append(out, span{from, to})
		default: // the comma after it goes too
			if text[to] == ',' {
				to++
			}
			out = append(out, span{from, to})
		}
		from = to
	}
	for _, s := range out {
		for i := s.from; i < s.to; i++ {
			text[i] = ' '
		}
	}
}
