package wstransport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

var askName = &mcp.ElicitParams{
	Message: "Who are you?",
	RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"name": map[string]any{"type": "string"}},
		"required":   []string{"name"},
	},
}

// greeter asks for a name in the way of either era, and counts its rounds.
func greeter() (*mcp.Server, *atomic.Int64) {
	var rounds atomic.Int64
	server := mcp.NewServer(impl, nil)
	tool(server, "greet", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rounds.Add(1)
		var answer *mcp.ElicitResult
		if req.ProtocolVersion() >= modern {
			var ok bool
			if answer, ok = req.Params.InputResponses["name"].(*mcp.ElicitResult); !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": askName}, RequestState: "round 1"}, nil
			}
			if req.Params.RequestState != "round 1" {
				return nil, fmt.Errorf("state %q", req.Params.RequestState)
			}
		} else {
			var err error
			if answer, err = req.Session.Elicit(ctx, askName); err != nil {
				return nil, err
			}
		}
		return says(fmt.Sprintf("Hello, %v!", answer.Content["name"])), nil
	})
	return server, &rounds
}

func answering(name string, asked *atomic.Int64) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked.Add(1)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
	}}
}

func TestBothEras(t *testing.T) {
	cases := []struct {
		version string
		rounds  int64
	}{
		{modern, 2},
		{legacy, 1},
		{"2025-06-18", 1},
	}
	for _, c := range cases {
		t.Run(c.version, func(t *testing.T) {
			server, rounds := greeter()
			e := serve(t, server, nil)
			var asked atomic.Int64
			session := connect(t, e.url, c.version, answering("Ada", &asked))
			require.Equal(t, c.version, session.InitializeResult().ProtocolVersion)
			require.Empty(t, session.ID())
			res := must(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"}))(t)
			require.False(t, res.IsError)
			require.Equal(t, "Hello, Ada!", textOf(t, res))
			require.Equal(t, c.rounds, rounds.Load())
			require.EqualValues(t, 1, asked.Load())
			require.NoError(t, session.Close())
			e.sessionEnds(t)
			require.NoError(t, session.Wait())
		})
	}
}

// Many calls at once on one connection, each asking in between, with results
// on both sides of the buffer sizes.
func TestConcurrentWriters(t *testing.T) {
	const calls = 100
	for _, version := range []string{modern, legacy} {
		t.Run(version, func(t *testing.T) {
			server, _ := greeter()
			e := serve(t, server, nil)
			var asked atomic.Int64
			long := make([]byte, 20<<10)
			for i := range long {
				long[i] = 'a' + byte(i%26)
			}
			session := connect(t, e.url, version, answering(string(long), &asked))
			var running sync.WaitGroup
			var good atomic.Int64
			for range calls {
				running.Go(func() {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"})
					if err == nil && !res.IsError && res.Content[0].(*mcp.TextContent).Text == "Hello, "+string(long)+"!" {
						good.Add(1)
					}
				})
			}
			running.Wait()
			require.EqualValues(t, calls, good.Load())
			require.EqualValues(t, calls, asked.Load())
		})
	}
}

// The client's side keeps the same rules against a server that breaks them.
func TestServerBreaksTheRules(t *testing.T) {
	cases := []struct {
		explanation string
		send        func(*testing.T, *websocket.Conn)
		code        int
	}{
		{"a binary message", sendMessage(websocket.BinaryMessage, "{}"), 1003},
		{"text that is not JSON", sendMessage(websocket.TextMessage, "hello"), 1007},
		{"a message over the limit", sendMessage(websocket.TextMessage, string(make([]byte, 3000))), 1009},
		{"a server that masks", sendFrames(maskedFrame(1, true, 2)), 1002},
		{"silence", func(*testing.T, *websocket.Conn) {}, 1011},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			accepted, url := acceptRaw(t)
			limits := wstransport.Limits{MaxMessageBytes: 2000}
			if c.code == 1011 {
				limits.PingInterval, limits.PongWait = 20*time.Millisecond, 100*time.Millisecond
			}
			transport := must(wstransport.Dial(t.Context(), url, &wstransport.DialOptions{Limits: limits}))(t)
			connection := must(transport.Connect(t.Context()))(t)
			c.send(t, receive(t, accepted))
			_, err := connection.Read(context.Background())
			requireClose(t, err, c.code, false)
			again, err := connection.Read(context.Background())
			require.Nil(t, again)
			requireClose(t, err, c.code, false)
		})
	}
}

// clientEnv makes this test binary a client, to be killed: its value is
// the address, the version to ask for and the tool to call.
const clientEnv = "WSTRANSPORT_TEST_CLIENT"

func TestMain(m *testing.M) {
	if job := strings.Fields(os.Getenv(clientEnv)); len(job) == 3 {
		if err := runClient(job[0], job[1], job[2]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// runClient calls a tool and never answers a question.
func runClient(url, version, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience) // in case nobody kills it
	defer cancel()
	transport, err := wstransport.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	client := mcp.NewClient(impl, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		_, _ = os.Stdout.WriteString("asked\n")
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: name})
	return err
}

// An unblocked is a handler's report after its context ended.
type unblocked struct {
	at     time.Time
	answer error // of the elicitation, if there was one
	ctx    error // of the handler
	cause  error
}

func TestClientKilled(t *testing.T) {
	cases := []struct {
		explanation, version, tool string
		asked                      bool
	}{
		{"mid-handler, modern", modern, "wait", false},
		{"mid-handler, in the second round", modern, "second", false},
		{"mid-handler, legacy", legacy, "wait", false},
		{"mid-elicitation, legacy", legacy, "elicit", true},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			started, ended := make(chan struct{}, 1), make(chan unblocked, 1)
			wait := func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				started <- struct{}{}
				<-ctx.Done()
				ended <- unblocked{at: time.Now(), ctx: ctx.Err(), cause: context.Cause(ctx)}
				return says("nobody reads this"), nil
			}
			server := mcp.NewServer(impl, nil)
			tool(server, "wait", wait)
			tool(server, "second", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if req.Params.RequestState == "" {
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "round 1"}, nil
				}
				return wait(ctx, req)
			})
			tool(server, "elicit", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				started <- struct{}{}
				_, err := req.Session.Elicit(ctx, askName)
				answered := time.Now()
				<-ctx.Done()
				ended <- unblocked{at: answered, answer: err, ctx: ctx.Err(), cause: context.Cause(ctx)}
				return nil, err
			})
			e := serve(t, server, nil)

			requireNoLeak(t, func() {
				self := must(os.Executable())(t)
				client := exec.Command(self)
				client.Env = append(os.Environ(), clientEnv+"="+strings.Join([]string{e.url, c.version, c.tool}, " "))
				client.Stderr = os.Stderr
				out := must(client.StdoutPipe())(t)
				require.NoError(t, client.Start())
				receive(t, started)
				if c.asked {
					must(io.ReadFull(out, make([]byte, len("asked\n"))))(t)
				}
				killed := time.Now()
				require.NoError(t, client.Process.Kill())
				end := receive(t, ended)
				_ = client.Wait()
				require.Less(t, end.at.Sub(killed), within)
				require.ErrorIs(t, end.ctx, context.Canceled)
				require.ErrorContains(t, end.cause, "connection lost")
				require.False(t, errors.Is(end.cause, io.EOF), "a killed peer has not said goodbye")
				if c.asked {
					require.Error(t, end.answer)
				}
				e.sessionEnds(t)
			})
		})
	}
}
