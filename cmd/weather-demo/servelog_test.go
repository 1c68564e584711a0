package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

func TestServeLogsALineARound(t *testing.T) {
	s := startServing(t, nil, "-stdio")
	client := s.client(nil)
	out, err := client.Call(within(t), "weather_steps", map[string]string{"location": "Springfield"}, wire.Answers{
		"place": wire.Value("Springfield, Missouri"), "units": wire.Value("imperial"),
	})
	require.NoError(t, err)
	require.Len(t, out.States, 2)
	for _, more := range []wire.Request{
		{Name: "places"},
		{Name: "weather_steps", Arguments: map[string]int{"location": 5}},
		{Name: "weather_steps", Arguments: map[string]string{"location": "Springfield"}, State: out.States[0] + "x"},
		{Name: "no\ntool", Arguments: struct{}{}},
	} {
		_, err = client.Send(within(t), more)
		require.NoError(t, err)
	}
	s.hangUp()

	log := s.log.String()
	for _, secret := range append(out.States, "Missouri", "imperial", "Springfield", "°") {
		require.NotContains(t, log, secret, "an answer or a state in the log")
	}
	const when, took = `\d\d:\d\d:\d\d\.\d{3}  `, ` +\d+\.\d\dms  `
	var lines, warnings []string
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		if strings.Contains(line, "level=") {
			warnings = append(warnings, line)
			continue
		}
		lines = append(lines, line)
	}
	require.Len(t, warnings, 3, log)
	for i, want := range []string{"type=validation", `error="Invalid or expired requestState"`, "call refused"} {
		require.Contains(t, warnings[i], "level=WARN")
		require.Contains(t, warnings[i], want)
		require.Contains(t, warnings[i], "requestId=")
	}
	expected := []string{
		`call ([0-9a-f]{8})  round 1   weather_steps ` + took + `asked place`,
		`card charged, 1 in all`,
		`call ([0-9a-f]{8})  round 2   weather_steps ` + took + `asked units`,
		`call ([0-9a-f]{8})  round 3   weather_steps ` + took + `completed`,
		`call -         round 1   places ` + took + `completed`,
		`call -         round 1   weather_steps ` + took + `stopped: validation`,
		`call -         round \d   weather_steps ` + took + `state refused: \w+`,
		`call -         round 1   no\?tool ` + took + `refused`,
	}
	require.Len(t, lines, len(expected), log)
	ids := map[string]bool{}
	for i, want := range expected {
		m := regexp.MustCompile("^" + when + want + "$").FindStringSubmatch(lines[i])
		require.NotNil(t, m, "line %d is not %s:\n%s", i+1, want, lines[i])
		if len(m) > 1 {
			ids[m[1]] = true
		}
	}
	require.Len(t, ids, 1, "the rounds of one call have one id")
}
