package message

import (
	"bytes"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

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
