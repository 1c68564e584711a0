package durable_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// A store that a listener hears of can do all that it could before.
func TestAStoreThatIsListenedToKeepsItsAbilities(t *testing.T) {
	abilities := map[string]reflect.Type{
		"Watcher":   reflect.TypeFor[store.Watcher](),
		"Sweeper":   reflect.TypeFor[store.Sweeper](),
		"Scheduler": reflect.TypeFor[store.Scheduler](),
		"Marker":    reflect.TypeFor[store.Marker](),
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../store/store.go", nil, 0)
	require.NoError(t, err)
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name != "Store" {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				declared = append(declared, spec.Name.Name)
			}
		}
		return true
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(abilities)), declared)

	own := newHookedStore()
	rt := kit.TripRuntime(t, withListener(own))
	heard := durable.Of(rt).Records().Store()
	require.NotEqual(t, store.Store(own), heard)
	for name, ability := range abilities {
		require.True(t, reflect.TypeOf(heard).Implements(ability), name)
	}
	key := store.Key{Name: "a"}
	key.Epoch, err = heard.Epoch(t.Context())
	require.NoError(t, err)
	at, err := heard.Create(t.Context(), key, nil, store.MinTTL)
	require.NoError(t, err)
	require.Equal(t, at, heard.(store.Marker).Reached(key.Epoch))
}

func withListener(s store.Store) *mrtr.Options {
	o := withStore(s)
	o.Listener = observe.With(&kit.Recorder{})
	return o
}
