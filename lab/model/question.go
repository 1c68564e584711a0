package model

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// medium is how a question reaches its user, and so the capability it needs.
type medium string

const (
	form     medium = "form"
	url      medium = "url"
	roots    medium = "roots"
	sampling medium = "sampling"
)

func (m medium) elicits() bool { return m == form || m == url }

// question is a question as the model knows it, in two wordings: a deployment may
// change the wording of the running tools.
type question struct {
	key     string
	medium  medium
	lenient bool // a decline is an answer
	confirm bool // and a yes holds for one wording only
	refused string
	right   [2]response
	wrong   string // JSON of content that breaks the question's schema, "" if there is none
	worded  [2]wording
}

// response is a response that is an answer, and the value that the handler reads.
type response struct{ json, read string }

// wording is a question in one wording, as the engine takes it.
type wording struct {
	message string // as it goes over the wire
	asking  mrtr.AnyQuestion
	// read is the answer in a guarded or linear handler, over asks a legacy session,
	// and step adds the question to a list of steps and gives its value there.
	read func(*mrtr.Call) (string, bool)
	over func(context.Context, *mrtr.Call) (string, error)
	step func(list *list, also bool) func(*at) string
	// given has the answer as a text, once another one is known.
	given func(after givenText) givenText
}

type givenText = given.Answer[input, string]

type (
	list = steps.List[input, output]
	at   = steps.At[input]
)

func word[T any](message string, q mrtr.Question[T], show func(T) string) wording {
	if err := q.Err(); err != nil {
		panic(err)
	}
	return wording{
		message: message,
		asking:  q,
		read: func(c *mrtr.Call) (string, bool) {
			v, ok := mrtr.Answer(c, q)
			if !ok {
				return "", false
			}
			return show(v), true
		},
		over: func(ctx context.Context, c *mrtr.Call) (string, error) {
			v, err := q.AskOver(ctx, c.Session())
			if err != nil {
				return "", err
			}
			return show(v), nil
		},
		step: func(list *list, also bool) func(*at) string {
			step := steps.Ask(list, q.Key(), func(context.Context, *at) (mrtr.Question[T], error) { return q, nil })
			if also {
				step.Together()
			}
			return func(at *at) string { return show(step.Of(at)) }
		},
		given: func(after givenText) givenText {
			answer := given.After(after, q.Key(), func(context.Context, input, string) (mrtr.Question[T], error) { return q, nil })
			return given.After(answer, q.Key()+".text", func(_ context.Context, _ input, v T) (mrtr.Question[string], error) {
				return mrtr.Known(show(v)), nil
			})
		},
	}
}

// wordings makes both wordings. The key leads the message, so that a script of
// answers finds it in a question that comes over a session.
func wordings[T any](key, text string, ask func(message string) mrtr.Question[T], show func(T) string) [2]wording {
	var both [2]wording
	for i, message := range []string{key + ": " + text, key + ": (reworded) " + text} {
		both[i] = word(message, ask(message), show)
	}
	return both
}

func accepts(content string) string { return `{"action":"accept","content":` + content + `}` }

func itself(s string) string { return s }

// seat asks for one of two seats, under any key.
func seat(key string) *question {
	return &question{
		key: key, medium: form, wrong: `{"` + key + `":"99Z"}`,
		right: [2]response{{accepts(`{"` + key + `":"1A"}`), "1A"}, {accepts(`{"` + key + `":"20F"}`), "20F"}},
		worded: wordings(key, "Which seat?", func(m string) mrtr.Question[string] {
			return mrtr.Choose(key, m, mrtr.Choices("1A", "20F")...)
		}, itself),
	}
}

var (
	party = &question{
		key: "party", medium: form, wrong: `{"party":"many"}`,
		right:  [2]response{{accepts(`{"party":2}`), "2"}, {accepts(`{"party":31}`), "31"}},
		worded: wordings("party", "How many?", func(m string) mrtr.Question[int] { return mrtr.Elicit[int]("party", m) }, strconv.Itoa),
	}
	pay = &question{
		key: "pay", medium: form, wrong: `{"pay":"yes"}`, lenient: true, confirm: true, refused: "false",
		right:  [2]response{{accepts(`{"pay":true}`), "true"}, {accepts(`{"pay":false}`), "false"}},
		worded: wordings("pay", "Pay now?", func(m string) mrtr.Question[bool] { return mrtr.Confirm("pay", m) }, strconv.FormatBool),
	}
	note = &question{
		key: "note", medium: form, wrong: `{"note":7}`, lenient: true, refused: "none",
		right: [2]response{{accepts(`{"note":"quiet"}`), "quiet"}, {accepts(`{"note":"late"}`), "late"}},
		worded: wordings("note", "A note?", func(m string) mrtr.Question[*string] {
			return mrtr.Optional(mrtr.Elicit[string]("note", m))
		}, func(s *string) string {
			if s == nil {
				return "none"
			}
			return *s
		}),
	}
	terms = &question{
		key: "terms", medium: url,
		right: [2]response{{`{"action":"accept"}`, "read"}, {`{"action":"accept","content":{"terms":"x"}}`, "read"}},
		worded: wordings("terms", "Read the terms.", func(m string) mrtr.Question[struct{}] {
			return mrtr.ElicitURL("terms", m, "https://example.com/terms")
		}, func(struct{}) string { return "read" }),
	}
	folders = &question{
		key: "folders", medium: roots,
		right: [2]response{{`{"roots":[{"uri":"file:///a"}]}`, "1"}, {`{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}`, "2"}},
		worded: unworded(mrtr.Roots("folders"), func(r *mcp.ListRootsResult) string { //lint:ignore SA1019 still legal on the wire
			return strconv.Itoa(len(r.Roots))
		}),
	}
	motto = &question{
		key: "motto", medium: sampling,
		right: [2]response{{sampled("onward"), "onward"}, {sampled("upward"), "upward"}},
		worded: unworded(mrtr.Sample("motto", &mcp.CreateMessageWithToolsParams{MaxTokens: 9}), //lint:ignore SA1019 still legal on the wire
			func(r *mcp.CreateMessageWithToolsResult) string { //lint:ignore SA1019 still legal on the wire
				if len(r.Content) == 1 {
					if text, ok := r.Content[0].(*mcp.TextContent); ok {
						return text.Text
					}
				}
				return "unreadable"
			}),
	}
)

// unworded is a question without a message, which no deployment rewords.
func unworded[T any](q mrtr.Question[T], show func(T) string) [2]wording {
	w := word("", q, show)
	return [2]wording{w, w}
}

func sampled(text string) string {
	return `{"role":"assistant","model":"m","content":{"type":"text","text":"` + text + `"}}`
}

// manner is how a user, or a broken client, responds to a question.
type manner string

const (
	right     manner = "right"
	other     manner = "other" // right as well, with another value
	declined  manner = "declined"
	cancelled manner = "cancelled"
	missing   manner = "missing" // for a legacy client: an error
	misfit    manner = "misfit"  // against the schema, or of another kind if there is none
	wrongKind manner = "of another kind"
	undefined manner = "an undefined action"
	shapeless manner = "shapeless" // no response that go-sdk can tell the kind of
)

// response is the JSON of such a response; nil for none.
func (q *question) response(m manner) json.RawMessage {
	switch m {
	case right:
		return json.RawMessage(q.right[0].json)
	case other:
		return json.RawMessage(q.right[1].json)
	case declined:
		return json.RawMessage(`{"action":"decline"}`)
	case cancelled:
		return json.RawMessage(`{"action":"cancel"}`)
	case missing:
		return nil
	case undefined:
		return json.RawMessage(`{"action":"shrug"}`)
	case shapeless:
		return json.RawMessage(`{"shape":"none"}`)
	case misfit:
		if q.wrong != "" {
			return json.RawMessage(accepts(q.wrong))
		}
	}
	if q.medium == roots {
		return json.RawMessage(`{"action":"accept","content":{}}`)
	}
	return json.RawMessage(`{"roots":[]}`)
}

// verdict says whether a response answers its question.
type verdict int

const (
	useless verdict = iota // asked for again
	answer
	refusal
)

// judge returns the verdict on a response, and the value that the handler reads.
func (q *question) judge(m manner) (v verdict, read string) {
	switch {
	case m == right:
		return answer, q.right[0].read
	case m == other:
		return answer, q.right[1].read
	case (m == declined || m == cancelled) && q.medium.elicits():
		if q.lenient {
			return answer, q.refused
		}
		return refusal, ""
	}
	return useless, ""
}
