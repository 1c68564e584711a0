package corpus

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The shop is safe. A generator makes mistakes in it: at each of its steps it flips, drops,
// duplicates, delays, widens or coerces. The steps say what they are, and nothing of the rules that
// may find them.

// change is one mistake: an operator at a step.
type change struct{ step, op string }

func (c change) String() string {
	if c.step == "" {
		return "-"
	}
	return c.step + "/" + c.op
}

// The operators, by the kind of the step.
var operators = map[string][]string{
	"check":   {"drop"},                                      // a condition that must hold
	"either":  {"drop", "flip"},                              // one that decides between two ways
	"bounds":  {"widen-low", "widen-high", "drop"},           // of a number
	"type":    {"coerce", "drop"},                            // of a value
	"text":    {"prefix", "fold", "trim", "drop"},            // that must be equal to another
	"effect":  {"drop", "duplicate", "delay"},                // what the shop is there for
	"nothing": {"charge", "charge-late", "fee", "uncounted"}, // a place where nothing happens
	"amount":  {"double", "round", "currency", "hundred"},    // what is charged
	"claim":   {"drop", "delay", "per-instance"},             // of a call, before its effect
	"id":      {"widen"},                                     // by what a call is claimed
	"tag":     {"drop", "half", "short"},                     // of a state
	"key":     {"guessable"},
	"memory":  {"share"}, // what belongs to one call
	"part":    {"drop"},  // of an answer
	"whole":   {"duplicate"},
	"code":    {"flip"},
}

// steps are those that a design was seen to have, with their kinds. The shop notes them while the
// correct designs are proved.
type steps struct {
	mu    sync.Mutex
	kinds map[string]string
}

// of is the operator at a step; "" if it is as it should be.
func (in *instance) op(kind, step string) string {
	if in.seen != nil {
		in.seen.mu.Lock()
		in.seen.kinds[step] = kind
		in.seen.mu.Unlock()
	}
	if in.change.step == step {
		return in.change.op
	}
	return ""
}

// mistakes are all changes of the steps that the designs have, each behind so many of them, which
// follow on each other from one change to the next.
func mistakes(seen map[string]*steps, all []design, behind int) (shops []shopOf) {
	able := map[change][]design{}
	for _, d := range all {
		for step, kind := range seen[d.name].kinds {
			for _, op := range operators[kind] {
				able[change{step, op}] = append(able[change{step, op}], d)
			}
		}
	}
	changes := slices.SortedFunc(maps.Keys(able), func(a, b change) int { return strings.Compare(a.String(), b.String()) })
	for i, c := range changes {
		for n := range min(behind, len(able[c])) {
			shops = append(shops, shopOf{able[c][(i*behind+n*7)%len(able[c])], c})
		}
	}
	return shops
}

func (in *instance) check(step string, holds bool) bool {
	return holds || in.op("check", step) == "drop"
}

func (in *instance) either(step string, holds bool) bool {
	switch in.op("either", step) {
	case "drop":
		return true
	case "flip":
		return !holds
	}
	return holds
}

func (in *instance) bounds(step string, n, low, high float64) bool {
	switch in.op("bounds", step) {
	case "widen-low":
		low = math.Inf(-1)
	case "widen-high":
		high = math.Inf(1)
	case "drop":
		return true
	}
	return n >= low && n <= high
}

// whole is a whole number.
func (in *instance) whole(step string, v any) (n float64, ok bool) {
	n, ok = v.(float64)
	switch in.op("type", step) {
	case "coerce":
		if text, isText := v.(string); isText {
			var err error
			n, err = strconv.ParseFloat(text, 64)
			ok = err == nil
		}
		if v == true {
			n, ok = 1, true
		}
		return math.Round(n), ok
	case "drop":
		if !ok {
			n, ok = 1, true
		}
		return math.Floor(n), ok
	}
	return n, ok && n == math.Trunc(n)
}

// truth is a truth value.
func (in *instance) truth(step string, v any) (yes, ok bool) {
	yes, ok = v.(bool)
	switch in.op("type", step) {
	case "coerce": // as scripting languages do
		return v != nil && v != false && v != "" && v != 0.0, v != nil
	case "drop":
		if !ok {
			return true, true
		}
	}
	return yes, ok
}

// equal compares texts.
func (in *instance) equal(step string, got, want string) bool {
	switch in.op("text", step) {
	case "prefix":
		return got != "" && (strings.HasPrefix(want, got) || strings.HasPrefix(got, want))
	case "fold":
		return strings.EqualFold(got, want) && got != ""
	case "trim":
		return strings.TrimSpace(got) == want
	case "drop":
		return got != ""
	}
	return got == want
}

// lateness is how late an effect is that was delayed.
const lateness = 1700 * time.Millisecond

// effect is what the shop is there for.
func (in *instance) effect(step string, name string) {
	switch in.op("effect", step) {
	case "drop":
		return
	case "duplicate":
		in.happens(name)
	case "delay": // out of the call, and so out of its claim
		go func() { in.happens(name); time.Sleep(lateness); in.happens(name) }()
		return
	}
	if in.design.has("queue") {
		go func() { time.Sleep(3 * time.Second); in.happens(name) }()
		return
	}
	in.happens(name)
}

// nothing is a place where nothing happens.
func (in *instance) nothing(step string, c claims) {
	name := in.charge(c)
	switch in.op("nothing", step) {
	case "charge":
		in.happens(name)
	case "charge-late":
		go func() { time.Sleep(lateness); in.happens(name) }()
	case "fee":
		in.happens("fee")
	case "uncounted": // by a name that no honest call has
		in.happens("reservation")
	}
}

func (in *instance) happens(name string) {
	in.shared.mu.Lock()
	defer in.shared.mu.Unlock()
	in.shared.effects[name]++
}
