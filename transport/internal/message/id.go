package message

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// largestExact is the largest number up to which a float64, in which go-sdk
// decodes numbers, has every integer.
const largestExact = 1<<53 - 1

// largeID begins the text by which go-sdk knows an integer that it would round.
// Nobody can guess it, so that no text of a peer is taken for one.
var largeID = "large " + rand.Text() + " "

var errFraction = errors.New("the id is a number and not an integer in digits")

// decodeID takes an integer of any size. The specification knows no other numbers.
func decodeID(raw []byte) (jsonrpc.ID, error) {
	switch {
	case raw == nil:
		return jsonrpc.ID{}, nil
	case isNumber(raw) && !IsInteger(raw):
		return jsonrpc.ID{}, errFraction
	case isLarge(raw):
		return jsonrpc.MakeID(largeID + string(raw))
	case isNumber(raw):
		n, _ := strconv.ParseFloat(string(raw), 64) // an integer that is not large
		return jsonrpc.MakeID(n)
	}
	var v any
	if json.Unmarshal(raw, &v) == nil {
		if id, err := jsonrpc.MakeID(v); err == nil {
			return id, nil
		}
	}
	return jsonrpc.ID{}, errors.New("the id is neither a number nor a string")
}

// IsInteger reports whether a number is written as an integer that is answered as it came.
func IsInteger(raw []byte) bool {
	return isNumber(raw) && !bytes.ContainsAny(raw, ".eE") && string(raw) != "-0"
}

// isAltered reports whether an id is a text that no reader gives back as it came: it has
// half a character in it, which becomes another one.
func isAltered(id []byte) bool {
	if len(id) == 0 || id[0] != '"' {
		return false
	}
	meant := 0
	for rest := id; len(rest) > 0; {
		unit := 1
		switch {
		case bytes.HasPrefix(rest, []byte(replacement)), len(rest) >= len(replacementEscape) && strings.EqualFold(string(rest[:len(replacementEscape)]), replacementEscape):
			meant++
		case rest[0] == '\\': // what it escapes begins no escape
			unit = min(2, len(rest))
		}
		rest = rest[unit:]
	}
	return strings.Count(string(jsontext.Walk(id, 1).Text()), replacement) > meant
}

const (
	replacement       = "\uFFFD"
	replacementEscape = `\ufffd`
)

func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// isLarge reports whether raw is an integer that go-sdk would round.
func isLarge(raw []byte) bool {
	if !isNumber(raw) || bytes.ContainsAny(raw, ".eE") {
		return false
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	return err != nil || v > largestExact || v < -largestExact
}

// nameLarge gives the call that a cancellation is about the name that go-sdk knows.
func nameLarge(params []byte) []byte {
	w := jsontext.Walk(params, jsontext.MaxDepth)
	for name := range w.Members {
		if string(name) != "requestId" {
			continue
		}
		start, value := w.Offset(), w.Value()
		if isLarge(value) {
			return slices.Concat(params[:start], []byte(`"`+largeID), value, []byte(`"`), params[start+len(value):])
		}
	}
	return params
}

// Cancels returns the id of the call that a message cancels, as go-sdk reads it.
func Cancels(req *jsonrpc.Request) (id jsonrpc.ID, ok bool) {
	var v any
	if req.Method != "notifications/cancelled" || json.Unmarshal(Member(req.Params, "requestId"), &v) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil && id.IsValid()
}

// HasLarge reports whether a message has an id that go-sdk knows by a name. Its
// answer has to go through [RestoreLarge].
func HasLarge(msg jsonrpc.Message) bool {
	var name any
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		name = msg.ID.Raw()
	case *jsonrpc.Response:
		name = msg.ID.Raw()
	}
	text, _ := name.(string)
	return strings.HasPrefix(text, largeID)
}

// RestoreLarge puts the integers back in whatever go-sdk made of their names, such as
// an encoded answer.
func RestoreLarge(message []byte) []byte {
	prefix := []byte(`"` + largeID)
	var restored []byte
	for {
		before, after, ok := bytes.Cut(message, prefix)
		restored = append(restored, before...)
		if !ok {
			return restored
		}
		digits, rest, _ := bytes.Cut(after, []byte(`"`))
		restored = append(restored, digits...)
		message = rest
	}
}
