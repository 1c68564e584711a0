package mrtr_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/failure"
	"github.com/mrtr-go/sdk/mrtr/internal/weight"
)

type tree struct {
	Name     string    `json:"name"`
	Children []*tree   `json:"children"`
	At       time.Time `json:"at"`
	Parent   *tree     `json:"-"`
}

// An input is weighed as it was decoded. It weighs no less than the memory
// that it takes, and not many times as much.
func TestAnInputWeighsItsMemory(t *testing.T) {
	for explanation, c := range map[string]struct {
		text  string
		check func(t *testing.T, text string)
	}{
		"a long string":     {`{"a":"` + strings.Repeat("x", 50_000) + `"}`, weighs[struct{ A string }]},
		"raw JSON":          {`"` + strings.Repeat("x", 50_000) + `"`, weighs[json.RawMessage]},
		"numbers":           {list(`0.5`, 5000), weighs[any]},
		"empty objects":     {list(`{}`, 5000), weighs[any]},
		"small objects":     {list(`{"":0.5}`, 3000), weighs[any]},
		"objects of ten":    {list(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":"k"}`, 500), weighs[any]},
		"empty lists":       {list(`[]`, 5000), weighs[any]},
		"strings":           {list(`"abcdefghijkl"`, 3000), weighs[[]string]},
		"pointers":          {list(`7`, 5000), weighs[[]*int64]},
		"structs":           {list(`{"name":"x","children":[{"name":"y"}],"at":"2026-07-28T00:00:00Z"}`, 500), weighs[[]tree]},
		"a map of structs":  {`{"a":{"name":"` + strings.Repeat("x", 20_000) + `"}}`, weighs[map[string]tree]},
		"large numbers":     {list(strings.Repeat("7", 3000), 30), weighs[[]*big.Int]},
		"deep in one chain": {strings.Repeat("[", 900) + `"` + strings.Repeat("x", 50_000) + `"` + strings.Repeat("]", 900), weighs[any]},
	} {
		t.Run(explanation, func(t *testing.T) { c.check(t, c.text) })
	}
}

func list(element string, n int) string {
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}

// weighs takes the median of several samples: what earlier tests of this process left
// behind may be freed while one of them is taken.
func weighs[In any](t *testing.T, text string) {
	var samples [5]float64
	var in In
	for i := range samples {
		samples[i] = memoryOf[In](t, text)
	}
	slices.Sort(samples[:])
	real := samples[len(samples)/2]

	require.NoError(t, json.Unmarshal([]byte(text), &in))
	weighed := float64(weight.Of(&in, 1<<30))
	t.Logf("%d bytes of JSON: %.0f bytes of memory, weighed %.0f", len(text), samples, weighed)
	require.Greater(t, weighed, 0.9*real, "weighs too little")
	require.Less(t, weighed, 3*real, "weighs too much")
}

// memoryOf returns the memory that a decoded text takes.
func memoryOf[In any](t *testing.T, text string) float64 {
	var held [8]In
	before := heap()
	for i := range held {
		require.NoError(t, json.Unmarshal([]byte(text), &held[i]))
	}
	taken := heap() - before
	runtime.KeepAlive(&held)
	return float64(taken) / float64(len(held))
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What leads back up, or to what all calls share, is not weighed.
func TestWeighingEnds(t *testing.T) {
	parent := &tree{Name: "parent"}
	for range 1000 {
		parent.Children = append(parent.Children, &tree{Parent: parent, At: time.Now().In(time.FixedZone("here", 60))})
	}
	require.Less(t, weight.Of(&parent, 1<<30), 200_000)

	type ring struct{ Next *ring }
	var r ring
	r.Next = &r
	require.Less(t, weight.Of(&r, 1<<30), 60_000, "deeper than any JSON is")

	long := make([]any, 1_000_000)
	require.Less(t, weight.Of(&long, 1000), 18_100_000)
	allocations := testing.AllocsPerRun(1, func() {
		many := make(map[string]any)
		for _, key := range strings.Split(strings.Repeat("k,", 100), ",") {
			many[key] = many
		}
		require.Greater(t, weight.Of(&many, 1000), 1000)
	})
	require.Less(t, allocations, 1000.0)
}

var errClosed = errors.New("the desk is closed")

// An error that was recorded may fail the next effect too.
func TestARecordedErrorIsRecordedAgain(t *testing.T) {
	met := failure.Of(errClosed).ReadBack().Err()
	again := failure.Of(fmt.Errorf("booking: %w", met))
	require.ErrorIs(t, again.ReadBack().Err(), met)
	require.ErrorIs(t, met, errClosed)
}

// codedError keeps a field that JSON does not see.
type codedError struct{ code int }

func (e *codedError) Error() string { return fmt.Sprint("code ", e.code) }

func TestAKeptTypeComesBackAsItself(t *testing.T) {
	lost := failure.Of(&codedError{7}).ReadBack().Err()
	require.EqualError(t, lost, "code 7")
	require.NotErrorAs(t, lost, new(*codedError), "JSON does not carry its field")

	failure.Keep(
		func(err *codedError) json.RawMessage { return json.RawMessage(fmt.Sprint(err.code)) },
		func(value json.RawMessage) (*codedError, bool) {
			var e codedError
			return &e, json.Unmarshal(value, &e.code) == nil
		})
	require.Equal(t, &codedError{7}, failure.Of(&codedError{7}).ReadBack().Err())
	var inner *codedError
	require.ErrorAs(t, failure.Of(fmt.Errorf("booking: %w", &codedError{7})).ReadBack().Err(), &inner)
	require.Equal(t, 7, inner.code)
}

func TestThePanicOfAnErrorIsThatError(t *testing.T) {
	f := failure.OfPanic(errClosed).ReadBack()
	require.True(t, f.Panic)
	value, ok := f.PanicValue(f.Text).(error)
	require.True(t, ok)
	require.ErrorIs(t, value, errClosed)
	require.Equal(t, "7", failure.OfPanic(7).ReadBack().PanicValue(7), "a value that is no error has its text")
}
