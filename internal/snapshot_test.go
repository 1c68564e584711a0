package internal_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/snapshot"
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

	c := snapshot.Of(v)
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
	require.Nil(t, snapshot.Of[any](nil))
	require.Nil(t, snapshot.Of[map[string]any](nil))
	require.Nil(t, snapshot.Of[*tree](nil))
	require.Equal(t, tree{}, snapshot.Of(tree{}))
}

// A type that hides its memory and decodes itself was filled by JSON as well.
func TestSnapshotOfTypesThatDecodeThemselves(t *testing.T) {
	type amount struct {
		Value *big.Int
		Plain big.Int
		Addr  netip.Addr
	}
	v := amount{Value: big.NewInt(7), Addr: netip.MustParseAddr("192.0.2.1")}
	v.Plain.SetInt64(8)
	c := snapshot.Of(v)
	require.Equal(t, v.Addr, c.Addr)
	c.Value.SetBit(c.Value, 3, 1)
	c.Plain.SetBit(&c.Plain, 0, 1)
	require.Equal(t, "7 8", v.Value.String()+" "+v.Plain.String())
	require.Equal(t, "15 9", c.Value.String()+" "+c.Plain.String())
}

func TestShares(t *testing.T) {
	type flat struct {
		Name string
		Pair [2]struct{ N int }
	}
	type deep struct {
		Pair [2]struct{ Tags []string }
	}
	for _, test := range []struct {
		explanation string
		value       any
		want        bool
	}{
		{"a string's bytes cannot be changed", "text", false},
		{"a struct of values", flat{}, false},
		{"a slice inside an array inside a struct", deep{}, true},
		{"a map", map[string]int{}, true},
		{"a pointer", new(int), true},
		{"a type that leads back to itself", tree{}, true},
	} {
		require.Equal(t, test.want, snapshot.Shares(reflect.TypeOf(test.value)), test.explanation)
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}],"c":"d"}`)
	f.Add(`[[],{},[[["x"]]]]`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		require.Equal(t, v, snapshot.Of(v))
	})
}
