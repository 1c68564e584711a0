package examples_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// trail is an audit trail of approvals: who answered which words how, and what ran on it. It
// gets no value of an answer, and knows words by their digest: a tool notes what it shows.
type trail struct {
	mu    sync.Mutex
	words map[string]string // by mrtr.Question.Words
	lines []string
}

func (t *trail) shows(q mrtr.AnyQuestion, words string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.words[q.Words()] = words
}

func (t *trail) Observe(_ context.Context, e observe.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case observe.QuestionAnswered:
		t.lines = append(t.lines, fmt.Sprintf("%s, %q: %s", e.Principal, t.words[e.Wording], e.Answer))
	case observe.EffectDone:
		t.lines = append(t.lines, fmt.Sprintf("%s: %s", e.Principal, e.Effect))
	}
}

// deletion is a tool that deletes a file if its user says yes in time.
func (t *trail) deletion(ctx context.Context, c *mrtr.Call, in struct {
	Path string `json:"path"`
}) (struct{}, error) {
	words := "Delete " + mrtr.Quote(in.Path) + "?"
	sure := mrtr.Confirm("sure", words).Within(time.Hour)
	t.shows(sure, words)
	if yes, err := linear.Ask(ctx, c, sure); err != nil || !yes {
		return struct{}{}, err
	}
	return mrtr.Once(ctx, c, "deleted", func(context.Context, string) (struct{}, error) { return struct{}{}, nil })
}

// An audit of approvals is an Observer: a yes, a no and a decline are different lines, and a
// client that cannot show a form is none of them.
func Example_audit() {
	t := &trail{words: map[string]string{}}
	build := func(w *mrtrtest.World) *mcp.Server {
		rt := must(mrtr.New(&mrtr.Options{Listener: observe.With(t), Unaskable: mrtr.UnaskableDefaults}))
		w.Cleanup(func() { _ = rt.Close() })
		server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
		mrtr.AddTool(server, &mcp.Tool{Name: "delete"}, mrtr.Tool(rt, linear.Journal(t.deletion), nil))
		return server
	}
	yes, no := mrtrtest.Value(true), mrtrtest.Value(false)
	for _, call := range []struct {
		user         string
		capabilities string
		answers      mrtrtest.Answers
	}{
		{"ann", "", mrtrtest.Answers{"sure": {yes}}},
		{"ben", "", mrtrtest.Answers{"sure": {no}}},
		{"cho", "", mrtrtest.Answers{"sure": {mrtrtest.Decline}}},
		{"eve", "{}", nil},
	} {
		_, err := mrtrtest.Play(context.Background(), build, mrtrtest.Script{
			Tool: "delete", Arguments: map[string]any{"path": "a.txt"}, Answers: call.answers,
		}, &mrtrtest.Options{User: call.user, Capabilities: call.capabilities})
		if err != nil {
			panic(err)
		}
	}
	for _, line := range t.lines {
		fmt.Println(line)
	}
	// Output:
	// ann, "Delete \"a.txt\"?": accepted
	// ann: deleted
	// ben, "Delete \"a.txt\"?": no
	// cho, "Delete \"a.txt\"?": declined
	// eve, "Delete \"a.txt\"?": not asked
}
