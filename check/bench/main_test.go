package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every row is measured, if only shortly: every subject does its
// work right and gives the expected answer.
func TestQuickRunMeasuresEverything(t *testing.T) {
	if testing.Short() && os.Getenv("MRTR_CI") != "1" {
		t.Skip("a quick run takes most of a minute: run without -short")
	}
	r, err := run(quick, "", false, io.Discard)
	require.NoError(t, err)
	require.Len(t, r.figures, len(rows()))
	for _, f := range r.figures {
		if f.alone != "" {
			continue
		}
		if f.missing != "" && os.Getenv("MRTR_CI") != "1" {
			t.Logf("%s: %s: %s", f.section, f.name, f.missing)
			continue
		}
		require.Empty(t, f.missing, f.name)
		if f.target == nil || f.target.value != 0 {
			require.NotZero(t, f.estimate.Value, f.name)
		}
	}
	var text bytes.Buffer
	r.write(&text)
	require.Contains(t, text.String(), "too short a run")
}

// A subject that fails says why, and the run fails with it.
func TestAFailingSubjectFailsTheRun(t *testing.T) {
	w, err := newWorkshop(io.Discard)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	_, err = w.start(inMemory(today, "memory/no such style"), nil)
	require.ErrorContains(t, err, "no such style: no such style")
	_, err = w.start(served("http/no such server"), nil)
	require.ErrorContains(t, err, "no subject")

	wrong := &server{child: nil, call: weather()}
	r, err := w.start(served("http/bare"), nil)
	require.NoError(t, err)
	wrong.child, wrong.client = r.(*server).child, r.(*server).client
	wrong.call.Text = "Weather in Lisbon: 21°C, partly cloudy."
	_, err = wrong.run(1)
	require.ErrorContains(t, err, "22°C")
	require.NoError(t, r.close())
}

// Where a tool is missing a person gets a line, and CI a failure.
func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := valgrind("")
	require.ErrorContains(t, err, "needs valgrind: run check/bench/install")
	t.Setenv("MRTR_CI", "")
	require.True(t, isMissing(err))
	t.Setenv("MRTR_CI", "1")
	require.False(t, isMissing(err))
}

// Where the server of a store is missing a person gets a line in its row, and CI a
// failure.
func TestMissingServerOfAStore(t *testing.T) {
	w, err := newWorkshop(io.Discard)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	_, err = w.command(redisStore)
	require.NoError(t, err)
	t.Setenv("PATH", "")
	t.Setenv("MRTR_CI", "")
	rows := choose(regexp.MustCompile("Redis"), false)
	section := wantedBy(rows, false)
	require.Len(t, section, 1)
	found := newResults()
	require.NoError(t, w.measureStore(quick, section[0], redisStore, found))
	for _, r := range rows {
		require.Equal(t, "needs Redis: run store/install", ptr(r.judge(found)).missing)
	}
	t.Setenv("MRTR_CI", "1")
	require.ErrorContains(t, w.measureStore(quick, section[0], redisStore, newResults()), "no redis-server here")
}
