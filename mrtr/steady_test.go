package mrtr_test

import (
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

type steadyParts struct {
	B  bool    `json:"b,omitempty"`
	F  float64 `json:"f,omitempty"`
	G  float32
	I  int8  `json:"-"`
	U  uint  `json:"u&"`
	T  *bool `json:"t,omitempty"`
	S  []string
	O  []string `json:"o,omitempty"`
	In []steadyLeaf
	P  *steadyLeaf `json:"p,omitempty"`
	D  time.Duration
	N  [][]byte
}

type steadyLeaf struct {
	Name  string
	Upper string `json:"name"`
	Text  []byte `json:"text,omitempty"`
}

// A type that is called steady is one: no value of it changes when it is decoded and
// encoded again.
func TestSteadyTypesAreSteady(t *testing.T) {
	requireSteady[bool](t)
	requireSteady[string](t)
	requireSteady[float32](t)
	requireSteady[float64](t)
	requireSteady[uint64](t)
	requireSteady[*int64](t)
	requireSteady[[]byte](t)
	requireSteady[*output](t)
	requireSteady[time.Duration](t)
	requireSteady[struct{}](t)
	requireSteady[steadyParts](t)
	requireSteady[[]*steadyParts](t)
	for _, v := range []float64{0, math.Copysign(0, -1), 5e-324, math.MaxFloat64, 1e21, 1e-7} {
		requireKept(t, v)
		requireKept(t, steadyParts{F: v, G: float32(v / 1e300)})
	}
	requireKept(t, "\ufffd<&>\u2028\x00")
	requireKept(t, "\xff")
	requireKept(t, steadyParts{S: []string{"\xc0"}})
	require.True(t, mrtr.IsSteady[string]([]byte(`"\n"`)))
	require.False(t, mrtr.IsSteady[string]([]byte(`"\ufffd"`)), "of a text that is not UTF-8")
	requireKept(t, steadyParts{S: []string{}, O: []string{}, N: [][]byte{nil, {}}, P: &steadyLeaf{}})
}

func requireSteady[T any](t *testing.T) {
	t.Helper()
	require.True(t, mrtr.IsSteadyType[T](), reflect.TypeFor[T]())
	steady := 0
	require.NoError(t, quick.Check(func(v T) bool {
		if requireKept(t, v) {
			steady++
		}
		return true
	}, nil))
	require.NotZero(t, steady)
}

// requireKept checks that a value which is called steady does not change.
func requireKept[T any](t *testing.T, v T) (steady bool) {
	t.Helper()
	saved, err := json.Marshal(v)
	if err != nil {
		return false // it has no JSON that could change
	}
	if steady = mrtr.IsSteady[T](saved); steady {
		require.True(t, mrtr.IsPlainJSON[T](saved), "%T: %s", v, saved)
	}
	return steady
}

type (
	embedsUnexported struct{ *unexportedPart }
	unexportedPart   struct{ A int }
	recursive        struct{ Next *recursive }
	readsItself      string
	inItself         []inItself
)

func (r *readsItself) UnmarshalJSON([]byte) error { *r = "read"; return nil }

// A type of which one value changes is not called steady, nor is one that is not known.
func TestOtherTypesAreTried(t *testing.T) {
	changes(t, "an interface does not keep the digits of a number", any(int64(math.MaxInt64)))
	changes(t, "nor inside something else", struct{ V []any }{[]any{uint64(1<<63 + 1)}})
	changes(t, "two keys of a map become one", map[string]int{"\xff": 1, "\xfe": 2})
	changes(t, "a pointer to a nil pointer comes back as a nil", struct {
		P **int `json:",omitempty"`
	}{new(*int)})
	changes(t, "so does one to a nil slice", struct {
		P *[]int `json:",omitempty"`
	}{new([]int)})
	changes(t, "a type that writes more than it reads", oneWay{shown: "x"})
	changes(t, "one that reads by itself", readsItself("written"))
	changes(t, "an embedded pointer to an unexported struct is not decoded", embedsUnexported{&unexportedPart{1}})
	unknown[time.Time](t)
	unknown[*big.Int](t)
	unknown[netip.Addr](t)
	unknown[json.Number](t)
	unknown[json.RawMessage](t)
	unknown[recursive](t)
	unknown[inItself](t)
	unknown[struct {
		N int `json:",string"`
	}](t)
	unknown[[2]int](t)
	unknown[func()](t)
}

func changes[T any](t *testing.T, explanation string, v T) {
	t.Helper()
	require.False(t, mrtr.IsSteadyType[T](), explanation)
	saved, err := json.Marshal(v)
	require.NoError(t, err, explanation)
	require.False(t, mrtr.IsPlainJSON[T](saved), explanation)
}

func unknown[T any](t *testing.T) {
	t.Helper()
	require.False(t, mrtr.IsSteadyType[T](), reflect.TypeFor[T]())
}
