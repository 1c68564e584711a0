package gate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// What is asked, in three ways, with and without a store, around and inside of a boundary and
// tasks: an approved call runs once, and no other runs.
func TestADestructiveCallAsksFirst(t *testing.T) {
	orders := map[string][]string{
		"alone": {"gate", "tasks"}, "behind tasks": {"tasks", "gate"}, "in a boundary": {"gate", "boundary", "tasks"}, "around all": {"boundary", "tasks", "gate"},
	}
	stores := map[string]func() store.Store{
		"no store": func() store.Store { return nil }, "memory": func() store.Store { return store.NewMemory(nil) }, "shared": func() store.Store { return machine{store.NewMemory(nil)} },
	}
	for way, client := range ways {
		for order, layers := range orders {
			for kind, records := range stores {
				t.Run(way+"/"+order+"/"+kind, func(t *testing.T) {
					at := map[string]tasks.Policy{"wipe": {AtOnce: true}, "bare": {AtOnce: true}}
					s := newSite(t, setting{store: records(), layers: layers, tasks: &tasks.Options{Policy: at}})
					c := s.client(client)
					for _, tool := range []string{"read", "write"} {
						out := s.call(c, tool, nil, nil)
						require.Empty(t, out.Questions)
						require.Equal(t, tool+" done", out.Text)
						require.Equal(t, []string{tool + " /a"}, s.called())
					}
					for _, tool := range []string{"wipe", "bare"} {
						out := s.call(c, tool, nil, yes)
						require.Len(t, out.Questions, 1)
						require.Contains(t, out.Questions[0].Message, "path: \"/a\"")
						require.Nil(t, out.Error)
						require.Equal(t, tool+" done", out.Text)
						require.Equal(t, []string{tool + " /a"}, s.called())
						if way != "legacy" {
							require.Equal(t, "complete", out.ResultType)
						}

						for name, answers := range map[string]wire.Answers{"no": no, "declined": saying(wire.Decline), "dismissed": saying(wire.Cancel)} {
							out := s.call(c, tool, nil, answers)
							require.True(t, out.IsError, name)
							require.Contains(t, out.Text, "the user did not approve the call of \""+tool+"\", and it was not made")
							require.Empty(t, s.called(), name)
						}
					}
					out := s.call(c, "asks", nil, yes)
					require.Len(t, out.Questions, 2)
					require.JSONEq(t, `{"bin":"paper"}`, string(out.Structured))
					require.Equal(t, []string{"asks", "asks /a paper"}, s.called())
				})
			}
		}
	}
}
