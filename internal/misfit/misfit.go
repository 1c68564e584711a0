// Package misfit says which answers of a legacy client did not fit their questions. go-sdk
// refuses such an answer with an error, so it is missing from the answers of a round. What
// is known of it goes beside them in a context, from the code that asks to the code that
// judges: the question's key and the properties that did not fit, and no value.
package misfit

import (
	"context"
	"strconv"
	"strings"
	"sync"
)

// Answer is one that did not fit.
type Answer struct {
	Properties []string // those that are known not to have fitted
	Missing    bool     // they were required, and the answer lacked them
}

// Answers are those of the last round that did not fit.
type Answers struct {
	mu sync.Mutex
	of map[string]Answer // by the question's key
}

type key struct{}

// Collect returns a context that has a place for them.
func Collect(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, &Answers{})
}

// Set replaces the answers of the round before, where the context has a place for them.
func Set(ctx context.Context, of map[string]Answer) {
	if a, ok := ctx.Value(key{}).(*Answers); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.of = of
	}
}

// Of is the answer to a question, if it did not fit.
func Of(ctx context.Context, question string) (answer Answer, ok bool) {
	a, found := ctx.Value(key{}).(*Answers)
	if !found {
		return answer, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok = a.of[question]
	return answer, ok
}

// refused begins the error of [mcp.ServerSession.Elicit] for an answer that broke its
// schema. go-sdk gives it no type, so its words are all there is; tests hold them, and were
// they to change, the call would end with an error result rather than ask again.
//
// [mcp.ServerSession.Elicit]: https://pkg.go.dev/github.com/modelcontextprotocol/go-sdk/mcp#ServerSession.Elicit
const refused = "elicitation result content does not match requested schema: "

// Read reports whether an error of go-sdk's is an answer that did not fit, and the
// properties that it names: one, or all that are missing. They are read from the path
// in the schema, which comes before any value.
func Read(err error) (answer Answer, ok bool) {
	text, ok := strings.CutPrefix(err.Error(), refused)
	if !ok {
		return answer, false
	}
	for {
		inner, found := strings.CutPrefix(text, "validating ")
		if !found {
			break
		}
		at, rest, found := strings.Cut(inner, ": ")
		if !found {
			break
		}
		if _, name, found := strings.Cut(at, "/properties/"); found {
			name, _, _ = strings.Cut(name, "/")
			return Answer{Properties: []string{unescape.Replace(name)}}, true
		}
		text = rest
	}
	if text, ok = strings.CutPrefix(text, "required: missing properties: ["); ok {
		answer.Missing = true
		for {
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				break
			}
			name, _ := strconv.Unquote(quoted)
			answer.Properties, text = append(answer.Properties, name), strings.TrimPrefix(text[len(quoted):], " ")
		}
	}
	return answer, true
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")
