package wstransport_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

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
				self, err := os.Executable()
				require.NoError(t, err)
				client := exec.Command(self)
				client.Env = append(os.Environ(), clientEnv+"="+strings.Join([]string{e.url, c.version, c.tool}, " "))
				client.Stderr = os.Stderr
				out, err := client.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, client.Start())
				receive(t, started)
				if c.asked {
					_, err := io.ReadFull(out, make([]byte, len("asked\n")))
					require.NoError(t, err)
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
