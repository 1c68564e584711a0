package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

// outcome is how a request is answered, as far as the model predicts it.
type outcome struct {
	kind kind
	// asks are the messages of the questions by key, in the order of the keys;
	// reason is that of an error result, and code that of a JSON-RPC error.
	asks   []asked
	reason string
	code   int64
	text   string
}

type kind string

const (
	asksUser  kind = "asks"
	carries   kind = "carries state"
	completes kind = "completes"
	stops     kind = "stops"
	refuses   kind = "refuses"
)

// asked is a question on the wire.
type asked struct{ key, message string }

// Reasons of error results, as the errors' types name them.
const (
	stopDeclined    = "declined"
	stopCancelled   = "cancelled"
	stopUnanswered  = "unanswered"
	stopCannotAsk   = "client_cannot_be_asked"
	stopFrameGone   = "frame_gone"
	stopDiverged    = "diverged"
	stopTooMany     = "limit_exceeded"
	stopNoAnswer    = "legacy_failed"
	failedEffect    = "execution"
	invalidParams   = -32602
	lacksCapability = -32021
)

func (o outcome) String() string {
	switch o.kind {
	case asksUser:
		keys := make([]string, len(o.asks))
		for i, q := range o.asks {
			keys[i] = q.key
			if strings.Contains(q.message, "(reworded)") {
				keys[i] += " (reworded)"
			}
		}
		return "asks " + strings.Join(keys, ", ")
	case stops:
		return "stops: " + o.reason
	case refuses:
		return fmt.Sprintf("refuses with %d", o.code)
	case completes:
		return fmt.Sprintf("completes: %q", o.text)
	}
	return string(o.kind)
}

// class is the outcome without what differs from call to call, for counting.
func (o outcome) class() string {
	switch o.kind {
	case stops:
		return string(stops) + " " + o.reason
	case refuses:
		return fmt.Sprintf("%s %d", refuses, o.code)
	}
	return string(o.kind)
}

// same reports whether a reply is the predicted one. The text of a question may
// have a note behind it.
func (o outcome) same(got outcome) bool {
	return o.kind == got.kind && o.reason == got.reason && o.code == got.code && o.text == got.text &&
		slices.EqualFunc(o.asks, got.asks, func(want, got asked) bool {
			return want.key == got.key && (got.message == want.message || strings.HasPrefix(got.message, want.message+"\n"))
		})
}

// observed reads a reply.
func observed(r *wire.Reply, modern bool) (outcome, error) {
	switch {
	case r.Error != nil:
		return outcome{kind: refuses, code: r.Error.Code}, nil
	case r.Incomplete():
		if r.ResultType != "input_required" || r.State == "" || !modern {
			return outcome{}, fmt.Errorf("an incomplete result of type %q, state of %d bytes", r.ResultType, len(r.State))
		}
		o := outcome{kind: carries}
		for _, q := range r.Asks {
			o.kind = asksUser
			o.asks = append(o.asks, asked{q.Key, q.Message})
		}
		return o, nil
	case r.State != "":
		return outcome{}, fmt.Errorf("a final result with a state")
	case r.IsError:
		var result struct {
			Meta map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			return outcome{}, err
		}
		reason, _ := result.Meta[reasonTag].(string)
		return outcome{kind: stops, reason: reason}, nil
	}
	var out output
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		return outcome{}, fmt.Errorf("reading a final result: %w", err)
	}
	return outcome{kind: completes, text: out.Told}, nil
}
