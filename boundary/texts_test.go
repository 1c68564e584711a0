package boundary_test

import (
	"context"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

type queryError struct{ text string }

func (e *queryError) Error() string    { return e.text }
func (e *queryError) SQLState() string { return "42P01" }

type stopsEarly struct{ error }

func (stopsEarly) Timeout() bool   { return true }
func (stopsEarly) Temporary() bool { return true }

// failing are errors of the dependencies of a tool.
var failingDependencies = map[string]error{
	"net.OpError":              &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("s3cret")},
	"net.DNSError":             &net.DNSError{Err: "no such host", Name: "s3cret"},
	"net.Error":                stopsEarly{errors.New("s3cret")},
	"net.ErrClosed":            net.ErrClosed,
	"url.Error":                &url.Error{Op: "Get", URL: "http://s3cret", Err: errors.New("refused")},
	"x509":                     x509.UnknownAuthorityError{},
	"fs.PathError":             &fs.PathError{Op: "open", Path: "/s3cret", Err: syscall.ENOENT},
	"os.LinkError":             &os.LinkError{Op: "link", Old: "/s3cret", New: "/s3cret", Err: syscall.EXDEV},
	"os.SyscallError":          os.NewSyscallError("connect", syscall.ECONNREFUSED),
	"syscall.Errno":            syscall.ECONNRESET,
	"fs.ErrNotExist":           fs.ErrNotExist,
	"os.ErrDeadlineExceeded":   os.ErrDeadlineExceeded,
	"exec.Error":               &exec.Error{Name: "s3cret", Err: exec.ErrNotFound},
	"io.ErrUnexpectedEOF":      io.ErrUnexpectedEOF,
	"sql.ErrNoRows":            sql.ErrNoRows,
	"sql.ErrTxDone":            sql.ErrTxDone,
	"driver.ErrBadConn":        driver.ErrBadConn,
	"SQLState":                 &queryError{`relation "s3cret" does not exist`},
	"context.Canceled":         context.Canceled,
	"context.DeadlineExceeded": context.DeadlineExceeded,
}

// wrappings are the ways in which such an error is returned, with the text that the client
// reads if an author has written one.
var wrappings = map[string]struct {
	wrap func(error) error
	text string
}{
	"bare":      {func(err error) error { return err }, ""},
	"wrapped":   {func(err error) error { return fmt.Errorf("opening s3cret: %w", err) }, ""},
	"deep":      {func(err error) error { return fmt.Errorf("a: %w", fmt.Errorf("s3cret: %w", err)) }, ""},
	"joined":    {func(err error) error { return errors.Join(errors.New("s3cret"), err) }, ""},
	"typed":     {func(err error) error { return &boundary.Execution{Message: "It could not be saved.", Err: err} }, "It could not be saved."},
	"described": {func(err error) error { return described{err} }, "It is not there."},
	"typed, wrapped": {func(err error) error {
		return fmt.Errorf("saving: %w", &boundary.Execution{Message: "It could not be saved.", Err: err})
	}, "saving: It could not be saved."},
	"typed, joined": {func(err error) error {
		return errors.Join(&boundary.Execution{Message: "It could not be saved."}, fmt.Errorf("s3cret: %w", err))
	}, "It could not be saved."},
	"wire, joined": {func(err error) error {
		return fmt.Errorf("%w: s3cret: %w", &jsonrpc.Error{Code: -31234, Message: "no"}, err)
	}, ""},
}

// described is an error with the methods of a package that does not import boundary.
type described struct{ cause error }

func (described) Error() string           { return "It is not there." }
func (d described) Unwrap() error         { return d.cause }
func (described) ToolErrorType() string   { return "gone" }
func (described) ToolErrorExpected() bool { return false }

// erring is a server on which everything fails alike.
func erring(t *testing.T, fail func(context.Context) error) (*mcp.Server, map[string]wire.Request) {
	t.Helper()
	s := everything(t, map[string]completer{"a": func(ctx context.Context) (*mcp.CompleteResult, error) { return nil, fail(ctx) }}, nil)
	require.NoError(t, mcp.AddReceivingCustomMethod(s, customMethod, func(ctx context.Context, _ *mcp.ServerSession, _ *searchParams) (*searchResult, error) {
		return nil, fail(ctx)
	}))
	schema := json.RawMessage(`{"type":"object"}`)
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		return nil, nil, fail(ctx)
	})
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, fail(ctx) })
	s.AddTool(&mcp.Tool{Name: "built", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{Meta: mcp.Meta{"a": 1}}
		res.SetError(fail(ctx))
		return res, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, fail(ctx)
	})
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, fail(ctx)
	})
	rt := must(mrtr.New(nil))(t)
	t.Cleanup(func() { rt.Close() })
	mcp.AddTool(s, &mcp.Tool{Name: "mrtr"}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, _ *mrtr.Call, _ input) (*mrtr.IncompleteResult, any, error) {
		return nil, nil, fail(ctx)
	}), nil))
	s.AddPrompt(&mcp.Prompt{Name: "mrtr"}, mrtr.Prompt(rt, mrtr.Native(func(ctx context.Context, _ *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return nil, nil, fail(ctx)
	}), nil))
	arguments := map[string]any{}
	return s, map[string]wire.Request{
		"tool": {Name: "typed", Arguments: arguments}, "raw tool": {Name: "raw", Arguments: arguments}, "built result": {Name: "built", Arguments: arguments},
		"prompt": {Method: "prompts/get", Name: "p"}, "resource": {Method: "resources/read", Name: "test://r"},
		"completion": {Method: "completion/complete", Name: "a"}, "custom method": {Method: customMethod},
		"mrtr tool": {Name: "mrtr", Arguments: arguments}, "mrtr prompt": {Method: "prompts/get", Name: "mrtr"},
	}
}

// said makes the request and returns the text that the client reads.
func said(t *testing.T, client *wire.Client, r wire.Request) string {
	t.Helper()
	if r.Method == "completion/complete" {
		r.Params = map[string]any{"_meta": client.Meta(), "ref": map[string]any{"type": "ref/prompt", "name": "p"}, "argument": map[string]any{"name": r.Name, "value": "v"}}
	}
	res, err := client.Exchange(t.Context(), r)
	require.NoError(t, err)
	require.NotContains(t, string(res.Result)+fmt.Sprint(res.Error), "s3cret")
	var failed *jsonrpc.Error
	if errors.As(res.Error, &failed) {
		require.NotContains(t, string(failed.Data), "s3cret")
		return failed.Message
	}
	var result mcp.CallToolResult
	require.NoError(t, json.Unmarshal(res.Result, &result))
	require.True(t, result.IsError)
	require.Len(t, result.Content, 1)
	return texts(&result)[0]
}

// An error of a dependency is a fault: the client reads a sentence of ours, or
// the author's, and the log has the cause.
func TestErrorsOfDependenciesAreForTheLog(t *testing.T) {
	t.Parallel()
	var log journal
	var err error
	cells := 0
	s, requests := erring(t, func(context.Context) error { return err })
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
	for _, era := range eras {
		client, shut, failed := openMemory(t.Context(), era, s)
		require.NoError(t, failed)
		for kind, dependency := range failingDependencies {
			for way, w := range wrappings {
				err = w.wrap(dependency)
				for method, request := range requests {
					text := said(t, client, request)
					name := fmt.Sprintf("%s, %s, %s, %s", kind, way, method, era)
					if w.text != "" {
						require.Equal(t, w.text, text, name)
					} else {
						require.Regexp(t, ` failed because of a fault in the server\.$`, text, name)
					}
					cells++
				}
			}
		}
		shut()
	}
	require.Equal(t, len(eras)*len(failingDependencies)*len(wrappings)*9, cells)
	logged := log.records(t)
	require.Equal(t, cells, len(logged))
	for _, r := range logged {
		require.Equal(t, "ERROR", r["level"], "%v", r)
		require.NotEmpty(t, r["cause"], "%v", r)
	}
	t.Logf("%d eras × %d errors × %d ways × %d methods = %d cells", len(eras), len(failingDependencies), len(wrappings), 9, cells)
}

// A deadline reads the same, whether the handler heeded it or not, and in whatever words,
// unless they are for the client.
func TestADeadlineAlwaysReadsTheSame(t *testing.T) {
	t.Parallel()
	waits := func(f func(error) error) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); return f(ctx.Err()) }
	}
	cells := 0
	for way, tc := range map[string]struct {
		fail func(context.Context) error
		text string
	}{
		"deaf":      {func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Hour); return errors.New("s3cret") }, ""},
		"heeded":    {waits(func(err error) error { return err }), ""},
		"wrapped":   {waits(func(err error) error { return fmt.Errorf("s3cret: %w", err) }), ""},
		"joined":    {waits(func(err error) error { return errors.Join(errors.New("s3cret"), err) }), ""},
		"forgotten": {waits(func(error) error { return errors.New("s3cret") }), ""},
		"cause":     {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, ""},
		"network":   {waits(func(error) error { return &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded} }), ""},
		"typed":     {waits(func(err error) error { return &boundary.Execution{Message: "The station is slow.", Err: err} }), "The station is slow."},
	} {
		for _, era := range eras {
			synctest.Test(t, func(t *testing.T) {
				s, requests := erring(t, tc.fail)
				require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deadline: time.Minute, LegacyDeadline: time.Minute}))
				client, shut, err := openMemory(t.Context(), era, s)
				require.NoError(t, err)
				for method, request := range requests {
					text := said(t, client, request)
					if tc.text != "" {
						require.Equal(t, tc.text, text, "%s, %s, %s", way, method, era)
					} else {
						require.Regexp(t, ` did not finish within 1m0s\.$`, text, "%s, %s, %s", way, method, era)
					}
					cells++
				}
				shut()
				time.Sleep(2 * time.Hour)
			})
		}
	}
	require.Equal(t, 8*len(eras)*9, cells)
	t.Logf("8 ways × %d eras × 9 methods = %d cells", len(eras), cells)
}

// Where an effect is in doubt the client still reads not to call again.
func TestAdviceStandsBesideTheSentence(t *testing.T) {
	s := newServer()
	rt := must(mrtr.New(nil))(t)
	defer rt.Close()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, any, error) {
		_, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (int, error) {
			return 0, fmt.Errorf("s3cret: %w", io.ErrUnexpectedEOF)
		}, nil)
		return nil, nil, err
	}), nil))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	client, shut, err := openMemory(t.Context(), judge.Modern, s)
	require.NoError(t, err)
	defer shut()
	require.Equal(t, `Tool "t" failed because of a fault in the server. Whether "pay" was done is unknown: do not call the tool again without checking.`,
		said(t, client, wire.Request{Name: "t", Arguments: map[string]any{}}))
}
