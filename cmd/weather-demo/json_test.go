package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runsOf decodes the output of -json without the types that printed it.
func runsOf(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	got := weatherDemo(t, "", append(args, "-json")...)
	require.Zero(t, got.status, got.stderr)
	require.Empty(t, got.stderr)
	var printed map[string][]map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &printed))
	require.Len(t, printed, 1, "one object, with runs")
	require.NotEmpty(t, printed["runs"])
	return printed["runs"]
}

func TestJSONHasARunForEachStyleEraAndPlace(t *testing.T) {
	seen := map[string]int{}
	for _, r := range runsOf(t) {
		seen[fmt.Sprint(r["letter"], " ", r["style"], " ", r["era"], " ", r["location"])]++
	}
	styles := []string{
		"E native", "A sse_shim", "C version_branch", "D two_handlers", "F once",
		"G steps", "H coroutine", "J journal", "K given", "B await", "N naive",
	}
	for _, style := range styles {
		for _, era := range []string{"modern", "legacy"} {
			for _, location := range []string{"Lisbon", "Springfield"} {
				require.Equal(t, 1, seen[style+" "+era+" "+location], "%s %s %s", style, era, location)
			}
		}
	}
	require.Len(t, seen, len(styles)*2*2)
}

func TestJSONShape(t *testing.T) {
	shape := map[string]reflect.Kind{
		"style": reflect.String, "letter": reflect.String, "era": reflect.String, "location": reflect.String,
		"rounds": reflect.Float64, "questions": reflect.Slice, "text": reflect.String, "structured": reflect.Map,
		"is_error": reflect.Bool, "effects": reflect.Float64, "handler_entries": reflect.Float64, "state_bytes": reflect.Float64,
	}
	for _, r := range runsOf(t) {
		require.Len(t, r, len(shape), "fields of %v", r)
		for name, kind := range shape {
			if name == "structured" && r["is_error"] == true {
				require.Nil(t, r[name], "an error has no structured content")
				continue
			}
			require.Equal(t, kind, reflect.ValueOf(r[name]).Kind(), "%s of %v", name, r)
		}
	}
}

func TestJSONIsNarrowed(t *testing.T) {
	tests := []struct {
		args string
		runs int
	}{
		{"-style E", 4},
		{"-style weather_steps -era legacy", 2},
		{"-location Tokyo", 22},
		{"-style journal -era modern -location Reykjavik", 1},
	}
	for _, tt := range tests {
		require.Len(t, runsOf(t, strings.Fields(tt.args)...), tt.runs, tt.args)
	}
}
