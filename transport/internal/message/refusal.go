package message

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// The bounds of a message. They are far from anything that a client means, so that
// nobody has to set them.
const (
	maxDepth   = 64
	maxMeta    = 64 << 10
	maxMembers = 100 // of a message, and of its params

	// go-sdk's decoder reads a value again at each level above it, so that its work is the
	// size of all objects and arrays together. That is bounded for messages of any size by
	// the greater of these, which four megabytes reach at a mean depth of twelve.
	maxWork        = 48 << 20
	maxWorkPerByte = 12
	smallMessage   = maxWork / maxDepth / 4 // cannot reach it
)

// Refusal refuses a message of a client's that two readers may understand differently, or
// that costs out of all proportion to read: go-sdk takes the last of two members with one
// name, where a proxy has perhaps shown its user the first, and the code of a server
// cannot know that there was another. It reads the message once, before anything decodes
// it. What is not JSON at all is left to the decoder.
//
// Arguments that are null become an empty object in place, which is how a null is meant.
// go-sdk panics over them where the schema of a tool has a default. A token of progress
// that is neither a text nor an integer, and an answer of no known shape, are blanked.
func Refusal(message []byte) *jsonrpc.Error {
	r := reading{message: message}
	w := jsontext.Walk(message, maxDepth)
	if w.Kind() != '{' {
		return nil
	}
	members, names := 0, jsontext.NameSet{}
	for name := range w.Members {
		if members++; members > maxMembers {
			return malformed("the message has over %d members", maxMembers)
		}
		if !names.Add(name) {
			return malformed("the message has two members %s", quoted(name))
		}
		switch string(name) {
		case "method":
			if r.isRequest = true; w.Kind() == '"' {
				r.method = w.Text()
			}
		case "id":
			if isAltered(w.Value()) {
				return malformed("the id has half a character in it, which nobody could answer as it came")
			}
		case "params":
			r.readParams(w)
		case "result":
			r.result = w.Value()
		}
		if r.refusal != nil {
			return r.refusal
		}
	}
	if !w.End() {
		whole := jsontext.Walk(message, jsontext.MaxDepth)
		if whole.Value(); whole.End() {
			return malformed("the message is nested more than %d deep", maxDepth)
		}
		return nil
	}
	if !r.isRequest {
		if name, found := jsontext.Walk(r.result, maxDepth).Repeated(); found {
			return invalid("an answer has two members %s", quoted(name))
		}
	}
	if len(message) > smallMessage && work(jsontext.Walk(message, maxDepth)) > max(maxWork, maxWorkPerByte*len(message)) {
		return malformed("the message is nested too deep for its size")
	}
	if string(r.method) == "tools/call" {
		return r.refuseArguments()
	}
	return nil
}

// reading is what was read of a message.
type reading struct {
	message   []byte
	isRequest bool
	method    []byte
	arguments []byte // with what follows them
	result    []byte
	refusal   *jsonrpc.Error
}

func malformed(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: " + fmt.Sprintf(format, args...)}
}

func (r *reading) readParams(w *jsontext.Walker) {
	if w.Kind() != '{' {
		return
	}
	members, names := 0, jsontext.NameSet{}
	for name := range w.Members {
		if members++; members > maxMembers {
			r.refusal = invalid("the params have over %d members", maxMembers)
			return
		}
		if !names.Add(name) {
			r.refusal = invalid("the params have two members %s", quoted(name))
			return
		}
		place, start := "a value", w.Offset()
		switch string(name) {
		case "_meta":
			place = "_meta"
		case "inputResponses":
			place = "an answer"
		case "arguments":
			place, r.arguments = "an argument", r.message[start:]
		}
		repeated, found := w.Repeated()
		switch {
		case found:
			r.refusal = invalid("%s has two members %s", place, quoted(repeated))
		case place == "_meta" && w.Offset()-start > maxMeta:
			r.refusal = invalid("_meta is over %d bytes", maxMeta)
		case place == "_meta" && r.message[start] == '{':
			keepMembers(r.message[start:], isToken)
			continue
		case place == "an answer" && r.message[start] == '{':
			keepMembers(r.message[start:], isAnswer)
			continue
		default:
			continue
		}
		return
	}
}

func (r *reading) refuseArguments() *jsonrpc.Error {
	if bytes.HasPrefix(r.arguments, []byte("null")) {
		copy(r.arguments, "{}  ")
		return nil
	}
	if path, number := inexact(jsontext.Walk(r.arguments, maxDepth)); number != nil {
		return invalid("arguments%s is a number that readers of JSON round to another: send it as a string", path)
	}
	return nil
}

// inexact finds an integer that a float64 does not hold, and names its path.
func inexact(w *jsontext.Walker) (path string, number []byte) {
	switch w.Kind() {
	case '{':
		for name := range w.Members {
			if path, number := inexact(w); number != nil {
				return "." + shown(name) + path, number
			}
		}
	case '[':
		for i := range w.Elements {
			if path, number := inexact(w); number != nil {
				return "[" + strconv.Itoa(i) + "]" + path, number
			}
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if text := w.Value(); IsInexact(text) {
			return "", text
		}
	default:
		w.Value()
	}
	return "", nil
}

// IsInexact reports whether a number is written as an integer, with or without zeros behind
// a point, that a float64 does not hold.
func IsInexact(number []byte) bool {
	const exactDigits = 15 // every float64 has them all
	digits, fraction, _ := strings.Cut(strings.TrimPrefix(string(number), "-"), ".")
	if len(digits) <= exactDigits || strings.ContainsAny(digits, "eE") || strings.Trim(fraction, "0") != "" {
		return false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return err != nil || strconv.FormatFloat(f, 'f', 0, 64) != digits
}

// work is the size of a value and of all objects and arrays in it.
func work(w *jsontext.Walker) int {
	start, sum := w.Offset(), 0
	switch w.Kind() {
	case '{':
		for range w.Members {
			sum += work(w)
		}
	case '[':
		for range w.Elements {
			sum += work(w)
		}
	default:
		w.Value()
		return 0
	}
	return sum + w.Offset() - start
}

// shownName bounds how much of a name of a client's is repeated to it.
const shownName = 64

func shown(name []byte) string {
	name = name[:min(len(name), shownName)]
	if jsontext.IsPlain(name) {
		return string(name)
	}
	return strconv.Quote(string(name)) // it escapes half a character
}

func quoted(name []byte) string { return strconv.Quote(string(name[:min(len(name), shownName)])) }
