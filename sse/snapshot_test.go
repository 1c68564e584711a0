package sse

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type base struct{ Tags []string }

type tree struct {
	base
	Name   string
	Leaves []*tree
	Next   *tree
	Any    any
	Raw    json.RawMessage
	Fixed  [2][]int
	ByName map[string][]int
	When   time.Time
	hidden []int
}

func TestSnapshotCopiesWhatJSONFills(t *testing.T) {
	leaf := &tree{Name: "leaf"}
	v := tree{
		base: base{Tags: []string{"t"}}, Name: "root", Leaves: []*tree{leaf, leaf},
		Any: map[string]any{"a": []any{1.0, nil}}, Raw: json.RawMessage(`{}`),
		Fixed: [2][]int{{1}, nil}, ByName: map[string][]int{"x": {1}},
		When: time.Unix(1, 0), hidden: []int{1},
	}
	v.Next = &tree{Name: "cycle"}
	v.Next.Next = v.Next

	c := snapshot(v)
	require.Equal(t, v.Name, c.Name)
	require.Equal(t, v.When, c.When)
	require.Equal(t, v.hidden, c.hidden)
	require.Same(t, c.Leaves[0], c.Leaves[1], "what is shared stays shared")
	require.NotSame(t, leaf, c.Leaves[0])
	require.Same(t, c.Next, c.Next.Next, "a cycle stays a cycle")
	require.NotSame(t, v.Next, c.Next)
	require.Nil(t, c.Fixed[1])

	c.Tags[0], c.Leaves[0].Name, c.Raw[0] = "ruined", "ruined", 'X'
	c.Fixed[0][0], c.ByName["x"][0] = -1, -1
	c.Any.(map[string]any)["a"].([]any)[0] = "ruined"
	require.Equal(t, "t", v.Tags[0])
	require.Equal(t, "leaf", leaf.Name)
	require.Equal(t, json.RawMessage(`{}`), v.Raw)
	require.Equal(t, 1, v.Fixed[0][0])
	require.Equal(t, 1, v.ByName["x"][0])
	require.Equal(t, map[string]any{"a": []any{1.0, nil}}, v.Any)
}

func TestSnapshotOfNothing(t *testing.T) {
	require.Nil(t, snapshot[any](nil))
	require.Nil(t, snapshot[map[string]any](nil))
	require.Nil(t, snapshot[*tree](nil))
	require.Equal(t, tree{}, snapshot(tree{}))
}

func FuzzSnapshot(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}],"c":"d"}`)
	f.Add(`[[],{},[[["x"]]]]`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		require.Equal(t, v, snapshot(v))
	})
}
