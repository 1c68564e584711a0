package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
)

// misbehaviour describes one tool of the server that the tests of package boundary have.
type misbehaviour struct {
	Place     string // the method
	Name      string
	Arguments any  // set if the request is at fault
	Unlawful  bool // its arguments are no object: no client library sends such
	Asks      bool // a client that can be asked gets another answer
	Outcomes  map[judge.Era]judge.Outcome
}

// sentBy is the part of a text that names the client.
var sentBy = regexp.MustCompile(`though \S+( \S+)? sent it`)

// TestBoundary has the TypeScript clients call every misbehaving tool behind a boundary once, in
// each era that they speak. Each call must come to one result or one protocol error, and to the one that was on the wire: a client that
// rejects a result says so in an error of its own.
func TestBoundary(t *testing.T) {
	requirePeers(t)
	drivers := buildDrivers(t)
	url := serveMisbehaving(t)
	cases := misbehavioursAt(t, url)
	for _, g := range []group{
		{"typescript-v1", "legacy", "http"},
		{"typescript-v2", "legacy", "http"},
		{"typescript-v2", "modern", "http"},
	} {
		t.Run(g.client+"/"+g.era, func(t *testing.T) {
			era := judge.Era(g.era)
			raw := probeAt(t, url, era)
			client := connect(t, drivers[g.client], g, "", url+"/"+g.era)
			client.counter.take() // the messages of connecting
			count, places := map[judge.Outcome]int{}, map[string]int{}
			unlawful := 0
			for _, m := range cases {
				if m.Unlawful {
					unlawful++
					continue
				}
				want := onTheWire(t, raw, era, m)
				got := client.misbehave(t, m)
				want.Text, got.Text = sentBy.ReplaceAllString(want.Text, "sent by"), sentBy.ReplaceAllString(got.Text, "sent by")
				seen := client.counter.take()
				outcome := m.Outcomes[era]
				rounds := 1
				// go-sdk refuses questions of a resource's handler in a legacy session.
				askable := m.Place != "resources/read" || era == judge.Modern
				if m.Asks && askable && m.Outcomes[judge.Modern] == judge.InputRequired { // unlike the raw client, these can answer
					want, outcome = reply{Text: "answered"}, judge.Complete
					if era == judge.Modern {
						rounds = 2
					}
				}
				switch outcome {
				case judge.ProtocolError:
					require.NotEmpty(t, got.Error, m)
					if era == judge.Modern || !m.Asks {
						require.Contains(t, got.Error, want.Error, m)
					}
				default:
					require.Empty(t, got.Error, m)
					require.Equal(t, outcome == judge.ErrorResult, got.IsError, m)
					require.False(t, got.IsError && got.Text == "", "%s: an error without a word", m.Name)
					// The raw client cannot be asked, and a legacy server tells it so.
					if era == judge.Modern || !m.Asks {
						require.Equal(t, want.Text, got.Text, m)
					}
				}
				require.Equal(t, rounds, seen.Calls, "%s: requests", m.Name)
				require.Zero(t, seen.Leaked, m.Name)
				count[outcome]++
				places[m.Place]++
			}
			client.close(t)
			t.Logf("%d misbehaviours (%d tools, %d prompts, %d resources): %d results, %d error results, %d protocol errors, none rejected",
				count[judge.Complete]+count[judge.ErrorResult]+count[judge.ProtocolError],
				places["tools/call"], places["prompts/get"], places["resources/read"],
				count[judge.Complete], count[judge.ErrorResult], count[judge.ProtocolError])
			require.GreaterOrEqual(t, places["tools/call"], 40)
			require.LessOrEqual(t, unlawful, 7)
			require.Equal(t, len(cases)-unlawful, count[judge.Complete]+count[judge.ErrorResult]+count[judge.ProtocolError])
		})
	}
}

// misbehave makes the call. A driver sends one argument, the location, which none
// of these tools has: it is left out unless the request is to be at fault.
func (c *connection) misbehave(t *testing.T, m misbehaviour) reply {
	t.Helper()
	cell := map[string]any{"answers": map[string]string{"units": "metric"}}
	switch m.Place {
	case "prompts/get":
		cell["prompt"] = m.Name
	case "resources/read":
		cell["resource"] = misbehavingScheme + m.Name
	default:
		cell["tool"] = m.Name
	}
	if m.Arguments != nil {
		cell["location"] = m.Arguments
	}
	var r reply
	require.NoError(t, c.Call(cell, &r))
	return r
}

// onTheWire is the answer to the same call, made by a raw client.
func onTheWire(t *testing.T, client *wire.Client, era judge.Era, m misbehaviour) reply {
	t.Helper()
	arguments := map[string]any{}
	if m.Arguments != nil {
		arguments["location"] = m.Arguments
	}
	request := wire.Request{Method: m.Place, Name: m.Name, Arguments: arguments}
	if m.Place == "resources/read" {
		request.Name = misbehavingScheme + m.Name
	}
	if m.Place != "tools/call" {
		request.Arguments = nil
	}
	res, err := client.Exchange(t.Context(), request)
	require.NoError(t, err, m)
	outcome, err := judged(era, m, res)
	require.NoError(t, err, m)
	require.Equal(t, m.Outcomes[era], outcome, m)
	if res.Error != nil {
		var failure *jsonrpc.Error
		require.ErrorAs(t, res.Error, &failure)
		return reply{Error: failure.Message}
	}
	type block struct{ Type, Text string }
	var result struct {
		Content  []block
		Messages []struct{ Content block }
		Contents []struct{ Text *string }
	}
	require.NoError(t, json.Unmarshal(res.Result, &result))
	for _, message := range result.Messages {
		result.Content = append(result.Content, message.Content)
	}
	for _, part := range result.Contents {
		if part.Text != nil {
			result.Content = append(result.Content, block{"text", *part.Text})
		}
	}
	var texts []string
	for _, block := range result.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return reply{Text: strings.Join(texts, "\n")}
}

// misbehavingScheme begins the address of a misbehaving resource.
const misbehavingScheme = "misbehaving://case/"

// judged is how an answer ended. The clients judge the results of prompts and
// resources by the schemas that they were built with.
func judged(era judge.Era, m misbehaviour, res *jsonrpc.Response) (judge.Outcome, error) {
	if m.Place == "tools/call" || res.Error != nil {
		return judge.Answer(era, res, nil)
	}
	var result struct {
		ResultType string `json:"resultType"`
	}
	if err := json.Unmarshal(res.Result, &result); err != nil {
		return "", err
	}
	if result.ResultType == "input_required" {
		return judge.InputRequired, nil
	}
	return judge.Complete, nil
}

func probeAt(t *testing.T, url string, era judge.Era) *wire.Client {
	t.Helper()
	client := fleet.Must(wire.DialHTTP(t.Context(), fmt.Sprintf("%s/%s/mcp", url, era), nil, era.Client()))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// serveMisbehaving starts the server of misbehaving tools, which lives as long as
// its input is open: all of them must leave it alive.
func serveMisbehaving(t *testing.T) string {
	t.Helper()
	server := exec.Command(buildTest(t, "../../boundary"))
	server.Env = append(os.Environ(), "BOUNDARY_TEST_SERVE=http")
	return fleet.ListenWhileOpen(t, server)
}

func misbehavioursAt(t *testing.T, url string) []misbehaviour {
	t.Helper()
	res := fleet.Must(http.Get(url + "/cases"))(t)
	defer res.Body.Close()
	var cases []misbehaviour
	require.NoError(t, json.NewDecoder(res.Body).Decode(&cases))
	return cases
}
