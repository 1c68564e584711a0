package contract

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// bounded is the subject with a boundary around its server, which logs.
func bounded(s mrtrtest.Subject, log io.Writer) mrtrtest.Subject {
	build := s.Build
	s.Build = func(w *mrtrtest.World) *mcp.Server {
		server := build(w)
		must(boundary.Install(server, &boundary.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}))
		return server
	}
	return s
}

// A boundary around the styles changes two things on the wire and nothing else,
// byte for byte but for ids and states:
//
//   - every complete result and every error result has the boundary's key in its
//     _meta;
//   - an error result whose error has hints ends in a text block with them.
//
// Questions, refusals and requests are unchanged.
func TestBoundaryChangesNothingButMeta(t *testing.T) {
	thorough := os.Getenv("MRTR_NIGHTLY") == "1" // else each style plays a third of the contracts
	full := Styles(AskingLegacy...)
	defaults := []mrtrtest.Contract{ModernContracts()[0], ModernContracts()[10]} // Lisbon and Springfield
	var messages, reports, hints int
	for _, group := range []struct {
		subjects  []mrtrtest.Subject
		contracts []mrtrtest.Contract
		in        *mrtrtest.Options
	}{
		{AllStyles(), ModernContracts(), OneInstance},
		{Styles("native", "once", "steps", "journal"), ModernContracts(), Fresh},
		{full, LegacyContracts(), Legacy},
		{Styles("native"), defaults, Legacy},
		{AllStyles(), defaults, SilentModern},
		{AllStyles(), defaults, SilentLegacy},
		{AllStyles(), defaults, NegotiatedDown},
	} {
		for i, s := range group.subjects {
			t.Run(group.in.String()+"/"+s.Name, func(t *testing.T) {
				for j, c := range group.contracts {
					if !thorough && len(group.contracts) > len(defaults) && (i+j)%3 > 0 {
						continue
					}
					bare, err := mrtrtest.Play(t.Context(), s.Build, c.Script, group.in)
					require.NoError(t, err)
					var log bytes.Buffer
					within, err := mrtrtest.Play(t.Context(), bounded(s, &log).Build, c.Script, group.in)
					require.NoError(t, err)
					require.NotContains(t, log.String(), "level=ERROR", "a client's refusal or its user's is nobody's mistake: %s", c.Name)
					require.Equal(t, bare.Effects, within.Effects, c.Name)
					require.Len(t, within.Messages, len(bare.Messages), c.Name)
					for i, message := range within.Messages {
						plain, report := boundedWithout(t, message)
						want, none := boundedWithout(t, bare.Messages[i])
						require.Nil(t, none)
						require.Equal(t, want, plain, "%s, message %d", c.Name, i+1)
						require.Equal(t, boundedFinal(t, message), report != nil, "%s, message %d: %s", c.Name, i+1, message)
						messages++
						if report != nil {
							reports++
							hints += min(1, len(report.Hints))
						}
					}
				}
			})
		}
	}
	t.Logf("%d messages are the same but for the boundary's _meta on %d results and the hints of %d errors", messages, reports, hints)
	require.NotZero(t, reports)
	require.NotZero(t, hints)
}

// boundedWithout is the message without the boundary's additions, and its report. It
// sorts the members of the result and of its _meta; their bytes stay.
func boundedWithout(t *testing.T, recorded string) (string, *boundary.Report) {
	t.Helper()
	direction, text, _ := strings.Cut(recorded, ": ")
	var message, result, meta map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &message))
	if message["result"] == nil {
		return recorded, nil
	}
	require.NoError(t, json.Unmarshal(message["result"], &result))
	if result["_meta"] != nil {
		require.NoError(t, json.Unmarshal(result["_meta"], &meta))
	}
	if meta[boundary.MetaKey] == nil {
		message["result"] = boundedJSON(t, result)
		return direction + ": " + string(boundedJSON(t, message)), nil
	}
	var report boundary.Report
	require.NoError(t, json.Unmarshal(meta[boundary.MetaKey], &report))
	require.Equal(t, weather, report.Tool)
	require.NotEmpty(t, report.RequestID)
	delete(meta, boundary.MetaKey)
	result["_meta"] = boundedJSON(t, meta)
	if len(meta) == 0 {
		delete(result, "_meta")
	}
	if len(report.Hints) > 0 {
		var blocks []json.RawMessage
		require.NoError(t, json.Unmarshal(result["content"], &blocks))
		last := len(blocks) - 1
		require.JSONEq(t, string(boundedJSON(t, map[string]string{"type": "text", "text": strings.Join(report.Hints, "\n")})), string(blocks[last]))
		result["content"] = boundedJSON(t, blocks[:last])
	}
	message["result"] = boundedJSON(t, result)
	return direction + ": " + string(boundedJSON(t, message)), &report
}

// boundedFinal reports whether the message is a tool's result that asks nothing.
func boundedFinal(t *testing.T, recorded string) bool {
	t.Helper()
	direction, text, _ := strings.Cut(recorded, ": ")
	var message struct{ Result map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(text), &message))
	return direction == "server" && message.Result["content"] != nil && message.Result["inputRequests"] == nil
}

func boundedJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}
