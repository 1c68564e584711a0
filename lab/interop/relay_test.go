package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/relay"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// upstream is a server of somebody's, with the tools that are relayed. dial opens one more
// connection to it, as often as it is called, and direct one that is no gateway's.
type upstream struct {
	dial      func(t *testing.T) mcp.Transport
	direct    func(t *testing.T) *wire.Client
	tools     []string
	arguments any
}

// over is an upstream whose connections are the same for everybody.
func over(dial func(t *testing.T) mcp.Transport, tools []string, arguments any) upstream {
	return upstream{dial, func(t *testing.T) *wire.Client { return fleet.Must(wire.Dial(t.Context(), dial(t), nil))(t) }, tools, arguments}
}

// upstreams are servers on the TypeScript SDK and on go-sdk, as their own documentation and
// their conformance suite have them, and ours.
func upstreams(t *testing.T) (_ map[string]upstream, effects func() (typescript, ours int)) {
	noted := &bytes.Buffer{} // by the one on the TypeScript SDK
	node := exec.Command(nodeProgram(), "peers/typescript-server/server.mjs")
	node.Stderr = noted
	typescript := fleet.Must(fleet.Run(node, "STATE_KEY="+strings.Repeat("k", 32)))(t)
	t.Cleanup(typescript.Kill)
	port := strings.TrimSpace(fleet.Must(typescript.Line())(t))
	everything := filepath.Join(t.TempDir(), "everything")
	built, err := exec.Command("go", "build", "-o", everything, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput()
	require.NoError(t, err, "%s", built)
	somewhere := map[string]string{"location": "Springfield"}
	ours := serveHTTP(t, buildServer(t, "../../cmd/weather-demo")) + "/mcp"
	return map[string]upstream{
			"typescript": over(func(t *testing.T) mcp.Transport {
				conn := fleet.Must(net.Dial("tcp", "127.0.0.1:"+port))(t)
				return &mcp.IOTransport{Reader: conn, Writer: conn}
			}, []string{"weather"}, somewhere),
			"go-sdk": over(func(*testing.T) mcp.Transport {
				return &mcp.CommandTransport{Command: exec.Command(everything)}
			}, []string{
				"test_input_required_result_elicitation", "test_input_required_result_sampling", "test_input_required_result_list_roots",
				"test_input_required_result_request_state", "test_input_required_result_multiple_inputs", "test_input_required_result_multi_round",
				"test_input_required_result_tampered_state", "test_input_required_result_capabilities",
			}, struct{}{}),
			"ours": {
				func(*testing.T) mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: ours} },
				func(t *testing.T) *wire.Client { return fleet.Must(wire.DialHTTP(t.Context(), ours, nil, nil))(t) },
				[]string{"weather_native", "weather_once", "weather_steps", "weather_coroutine", "weather_journal"}, somewhere,
			},
		}, func() (int, int) {
			typescript.Kill()
			res := fleet.Must(http.Get(strings.TrimSuffix(ours, "/mcp") + "/charges"))(t)
			defer res.Body.Close()
			var charges struct{ Charge int }
			require.NoError(t, json.NewDecoder(res.Body).Decode(&charges))
			return strings.Count(noted.String(), "audit"), charges.Charge
		}
}

// relayed is what a client saw of a call.
type relayed struct {
	Text, Structured string
	IsError          bool
	Questions        []string
}

// willing answers every question with whatever fits its form.
func willing(q wire.Question) any {
	switch q.Method {
	case "sampling/createMessage":
		return json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"}}`)
	case "roots/list":
		return json.RawMessage(`{"roots":[{"uri":"file:///tmp"}]}`)
	}
	var form struct {
		RequestedSchema struct {
			Properties map[string]struct {
				Type  string
				Enum  []string
				OneOf []struct{ Const string }
			}
		}
	}
	_ = json.Unmarshal(q.Params, &form)
	content := map[string]any{}
	for name, property := range form.RequestedSchema.Properties {
		switch {
		case property.Type == "boolean":
			content[name] = true
		case len(property.Enum) > 0:
			content[name] = property.Enum[0]
		case len(property.OneOf) > 0:
			content[name] = property.OneOf[0].Const
		default:
			content[name] = "Ada"
		}
	}
	return map[string]any{"action": "accept", "content": content}
}

// play makes a call, and declines the form of this number.
func play(t *testing.T, client *wire.Client, tool string, arguments any, declines int) relayed {
	t.Helper()
	asked := 0
	out := fleet.Must(client.Call(t.Context(), tool, arguments, wire.Answers{"*": func(q wire.Question) any {
		if q.Method == "elicitation/create" {
			asked++
		}
		if asked == declines && q.Method == "elicitation/create" {
			return wire.Decline(q)
		}
		return willing(q)
	}}))(t)
	require.Nil(t, out.Error)
	seen := relayed{Text: out.Text, Structured: string(out.Structured), IsError: out.IsError}
	for _, q := range out.Questions {
		var params struct {
			Message         string
			RequestedSchema any
		}
		require.NoError(t, json.Unmarshal(q.Params, &params))
		seen.Questions = append(seen.Questions, fmt.Sprint(q.Method, " ", params.Message, " ", params.RequestedSchema))
	}
	slices.Sort(seen.Questions) // a session asks those of one round at once
	return seen
}

// shared is a store of one process that takes its instances for two.
type shared struct{ *store.Memory }

func (shared) Scope() store.Scope { return store.Machine }

// serveGateway serves two instances of a gateway in front of an upstream, of which each request
// reaches the other one. A session stays where it is.
func serveGateway(t *testing.T, up upstream) (url string) {
	keys, records := []statecodec.Key{statecodec.GenerateKey()}, shared{store.NewMemory(nil)}
	var fronts [2]http.Handler
	for i := range fronts {
		rt := fleet.Must(mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: keys}, Durable: durable.In(records, nil)}))(t)
		t.Cleanup(func() { require.NoError(t, rt.Close()) })
		client := mcp.NewClient(&mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
		session := fleet.Must(client.Connect(t.Context(), up.dial(t), nil))(t)
		t.Cleanup(func() { _ = session.Close() })
		server := mcp.NewServer(&mcp.Implementation{Name: "gateway", Version: "1"}, nil)
		require.NoError(t, relay.AddAll(t.Context(), server, rt, session, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
		m := fleet.Must(tasks.Install(server, &tasks.Options{Runtime: rt, PollInterval: time.Millisecond}))(t)
		t.Cleanup(func() { require.NoError(t, m.Close()) })
		fronts[i] = fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
	}
	var turn atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := 0
		if r.Header.Get("Mcp-Protocol-Version") == wire.Modern {
			at = int(turn.Add(1)) % len(fronts)
		}
		fronts[at].ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

// TestRelay has clients of every era call the tools of other people's servers through a gateway
// of two instances. They are asked the same as at the server itself, and get the same, whether
// they answer or decline. The effects are those of the server alone, once. A state that it gave to
// somebody else is of no use at the gateway.
func TestRelay(t *testing.T) {
	requirePeers(t, peer{name: "typescript-server", module: "@modelcontextprotocol/server", version: "2.4.0"})
	cells, forged := 0, 0
	servers, effects := upstreams(t)
	for name, up := range servers {
		direct := up.direct(t)
		url := serveGateway(t, up)
		for era, opts := range map[string]*wire.Options{"modern": {}, "legacy": {Version: wire.Legacy}, "task": {TakesTasks: true}} {
			client := fleet.Must(wire.DialHTTP(t.Context(), url, nil, opts))(t)
			for _, tool := range up.tools {
				if given := fleet.Must(direct.Send(t.Context(), wire.Request{Name: tool, Arguments: up.arguments}))(t); era == "modern" && given.State != "" {
					forged++
					refused := fleet.Must(client.Send(t.Context(), wire.Request{Name: tool, Arguments: up.arguments, State: given.State}))(t)
					require.EqualValues(t, -32602, refused.Error.Code, "a state of the upstream's own")
				}
				for declines := range 3 {
					cells++
					t.Run(fmt.Sprintf("%s/%s/%s/declines=%d", name, era, tool, declines), func(t *testing.T) {
						want := play(t, direct, tool, up.arguments, declines)
						require.NotEmpty(t, want.Questions)
						require.Equal(t, want, play(t, client, tool, up.arguments, declines))
					})
				}
			}
			_ = client.Close()
		}
		_ = direct.Close()
	}
	require.Equal(t, (1+8+5)*3*3, cells)
	theirs, ours := effects()
	require.Equal(t, 2*3, theirs, "of the calls that nobody declined, here and there")
	require.Equal(t, 2*3*(5+4), ours, "and of those that declined what four of the tools ask after it")
	require.Greater(t, forged, 5)
	t.Logf("%d cells", cells)
}
