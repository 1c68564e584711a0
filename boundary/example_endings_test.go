package boundary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A call ends in one of these ways, and the client and the log each get their end of it. The
// cause of a fault is for the log alone.
func Example_endings() {
	decline := func(r *wire.Request) { r.Responses = map[string]any{"units": wire.Decline(wire.Question{})} }
	forge := func(r *wire.Request) { r.State = "forged" }
	fmt.Println("the call                client gets           expected log gets")
	for _, c := range []struct {
		name   string
		act    exampleAct
		secret string // in the cause
	}{
		{"completes", calls("weather", lisbon, wire.Answers{"units": wire.Value("metric")}), ""},
		{"asks its user", requests("weather", lisbon), ""},
		{"is declined", answersAfter("weather", lisbon, decline), ""},
		{"names no known place", requests("weather", `{"location":"Lisbonn"}`), ""},
		{"has a wrong argument", requests("weather", `{"locaton":"Lisbon"}`), ""},
		{"is of a denied tier", requests("resolve", `{"work_item_id":1}`), ""},
		{"brings a forged state", answersAfter("weather", lisbon, forge), ""},
		{"names no known tool", requests("wether", lisbon), ""},
		{"returns no JSON", requests("unsendable", `{}`), "NaN"},
		{"does not return in time", requests("hangs", `{}`), ""},
		{"panics", requests("panics", `{}`), "a secret that belongs in the log"},
	} {
		var log bytes.Buffer
		server := exampleServer{boundary: boundary.Options{
			Logger: slog.New(slog.NewJSONHandler(&log, nil)), Deny: []boundary.Tier{boundary.Write},
			ToolDeadlines: map[string]time.Duration{"hangs": 50 * time.Millisecond},
		}}
		reply := server.play(c.act)
		kind, expected := gotByClient(reply)
		fmt.Printf("%-24s%-22s%-9s%s\n", c.name, kind, expected, gotByLog(log.String()))
		if c.secret != "" {
			fmt.Printf("  its cause reaches the client: %t, the log: %t\n",
				strings.Contains(string(reply.Result), c.secret), strings.Contains(log.String(), c.secret))
		}
	}
	// Output:
	// the call                client gets           expected log gets
	// completes               the result            -        INFO  tool call
	// asks its user           the question          -        INFO  tool asks
	// is declined             error, declined       true     INFO  tool call stopped
	// names no known place    error, not_found      true     WARN  tool call failed
	// has a wrong argument    error, validation     true     WARN  tool call failed
	// is of a denied tier     error, denied         true     WARN  tool call failed
	// brings a forged state   JSON-RPC error -32602 -        WARN  tool call refused
	// names no known tool     JSON-RPC error -32602 -        WARN  tool call refused
	// returns no JSON         error, invalid_output false    ERROR tool call failed
	//   its cause reaches the client: false, the log: true
	// does not return in time error, timeout        false    ERROR tool call failed
	// panics                  error, internal       false    ERROR tool call failed
	//   its cause reaches the client: false, the log: true
}

// gotByClient is the kind of a reply and, of an error result, whether the agent can correct
// it.
func gotByClient(reply *wire.Reply) (kind, expected string) {
	switch {
	case reply.Error != nil:
		return fmt.Sprintf("JSON-RPC error %d", reply.Error.Code), "-"
	case reply.Incomplete():
		return "the question", "-"
	case !reply.IsError:
		return "the result", "-"
	}
	_, report := exampleReport(reply)
	return "error, " + report.Type, fmt.Sprint(*report.Expected)
}

// gotByLog is the record of the last call.
func gotByLog(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var record struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &record); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%-6s%s", record.Level, record.Msg)
}
