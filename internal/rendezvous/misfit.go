package rendezvous

import (
	"context"
	"strconv"
	"strings"
	"sync"
)

// A Misfit is an answer of a legacy client that did not fit its question. go-sdk refuses such
// an answer with an error, so it is missing from the answers of a round. What is known of it
// goes beside them in a context, from the code that asks to the code that judges, and no
// value.
type Misfit struct {
	Properties []string // those that are known not to have fitted
	Missing    bool     // they were required, and the answer lacked them
}

// misfits are those of the last round, by their questions' keys.
type misfits struct {
	mu sync.Mutex
	of map[string]Misfit
}

type misfitsKey struct{}

// CollectMisfits returns a context that has a place for them.
func CollectMisfits(ctx context.Context) context.Context {
	return context.WithValue(ctx, misfitsKey{}, &misfits{})
}

// SetMisfits replaces the misfits of the round before, where the context has a place for them.
func SetMisfits(ctx context.Context, of map[string]Misfit) {
	if a, ok := ctx.Value(misfitsKey{}).(*misfits); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.of = of
	}
}

// MisfitOf is the answer to a question, if it did not fit.
func MisfitOf(ctx context.Context, question string) (answer Misfit, ok bool) {
	a, found := ctx.Value(misfitsKey{}).(*misfits)
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

// ReadMisfit reports whether an error of go-sdk's is an answer that did not fit, and the
// properties that it names: one, or all that are missing. They are read from the path
// in the schema, which comes before any value.
func ReadMisfit(err error) (answer Misfit, ok bool) {
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
			return Misfit{Properties: []string{unescape.Replace(name)}}, true
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
