package docs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// The two tools that docs/styles.md works through.

// did collects the effects of the tools below.
type did []string

func (d *did) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

type file struct {
	Path string `json:"path"`
}

type removal struct {
	Removed bool `json:"removed"`
}

func remover(done *did) mrtr.GuardedFunc[file, removal] {
	return func(ctx context.Context, c *mrtr.Call, in file) (*mrtr.IncompleteResult, removal, error) {
		sure := mrtr.Confirm("sure", "Delete "+mrtr.Quote(in.Path)+"?")
		yes, answered := mrtr.Answer(c, sure)
		if !answered {
			return mrtr.Need(sure), removal{}, nil
		}
		if !yes { // declined, dismissed, or a client that cannot be asked
			return nil, removal{}, nil
		}
		done.add("removed %s", in.Path) // below the last guard; removing twice does no harm
		return nil, removal{true}, nil
	}
}

type newcomer struct {
	Name string `json:"name"`
}

type account struct {
	ID      string `json:"id"`
	Answers int    `json:"answers"`
}

func onboarding(done *did) mrtr.Style[newcomer, account] {
	text := func(key, message string) func(context.Context, *steps.At[newcomer]) (mrtr.Question[string], error) {
		return func(context.Context, *steps.At[newcomer]) (mrtr.Question[string], error) {
			return mrtr.Elicit[string](key, message), nil
		}
	}
	var b steps.List[newcomer, account]
	email := steps.Ask(&b, "email", text("email", "Your email?"))
	role := steps.Ask(&b, "role", text("role", "Your role?")).Together() // in the same round
	team := steps.Ask(&b, "team", text("team", "Your team?")).Together()
	plan := steps.Ask(&b, "plan", text("plan", "Which plan?")) // in the next one
	seats := steps.Ask(&b, "seats", text("seats", "How many seats?")).Together()
	id := steps.Do(&b, "account", func(_ context.Context, at *steps.At[newcomer], idem string) (string, error) {
		done.add("account for %s", email.Of(at)) // once, because of its place; idem goes to the accounts service
		return "account of " + at.In.Name, nil
	})
	theme := steps.Ask(&b, "theme", text("theme", "Which theme?"))
	language := steps.Ask(&b, "language", text("language", "Which language?")).Together()
	news := steps.Ask(&b, "news", text("news", "Which news?")).Together()
	first := steps.Ask(&b, "first", text("first", "Which first project?"))
	invites := steps.Ask(&b, "invites", text("invites", "Whom to invite?")).Together()
	b.End(func(_ context.Context, at *steps.At[newcomer]) (account, error) {
		n := 0
		for _, step := range []steps.Step[string]{email, role, team, plan, seats, theme, language, news, first, invites} {
			if step.Of(at) != "" {
				n++
			}
		}
		return account{id.Of(at), n}, nil
	})
	return b.MustBuild()
}

func TestToolsOfTheStylesDocument(t *testing.T) {
	yes, ada := wire.Answers{"sure": wire.Value(true)}, wire.Answers{"*": wire.Value("x")}
	var removed, kept, onboarded did
	cases := []struct {
		name      string
		style     func(*mcp.Server, *mrtr.Runtime)
		arguments any
		answers   wire.Answers
		requests  int
		result    string
		did       *did
		want      did
	}{
		{"a delete", func(s *mcp.Server, rt *mrtr.Runtime) {
			mrtr.AddTool(s, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Native(remover(&removed)), nil))
		}, file{"a.txt"}, yes, 2, `{"removed":true}`, &removed, did{"removed a.txt"}},
		{"a delete that is declined", func(s *mcp.Server, rt *mrtr.Runtime) {
			mrtr.AddTool(s, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Native(remover(&kept)), nil))
		}, file{"a.txt"}, wire.Answers{"sure": wire.Decline}, 2, `{"removed":false}`, &kept, nil},
		{"an onboarding", func(s *mcp.Server, rt *mrtr.Runtime) {
			mrtr.AddTool(s, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, onboarding(&onboarded), nil))
		}, newcomer{"Ada"}, ada, 5, `{"id":"account of Ada","answers":10}`, &onboarded, did{"account for x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rt, err := mrtr.New(nil)
			require.NoError(t, err)
			defer rt.Close()
			server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
			c.style(server, rt)
			client, err := wire.Connect(t.Context(), server, nil)
			require.NoError(t, err)
			defer client.Close()
			out, err := client.Call(t.Context(), "tool", c.arguments, c.answers)
			require.NoError(t, err)
			require.False(t, out.IsError, out.Text)
			require.Equal(t, c.requests, out.Rounds)
			require.JSONEq(t, c.result, string(out.Structured))
			require.Equal(t, c.want, *c.did)
		})
	}
}
