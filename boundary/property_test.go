package boundary_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A site is a method at which a handler may misbehave.
type site string

const (
	atTool       site = "tools/call"
	atPrompt     site = "prompts/get"
	atResource   site = "resources/read"
	atCompletion site = "completion/complete"
	atCustom     site = customMethod
)

var sites = []site{atTool, atPrompt, atResource, atCompletion, atCustom}

// badScheme begins the URI of a misbehaving resource.
const badScheme = "misbehaving://case/"

// A stage is a server whose handlers do what a seed draws for them.
type stage struct {
	seed    atomic.Uint64
	release chan struct{}
	last    atomic.Pointer[any] // the value that the handler returned in this call
}

// playing is the body of every handler.
func playing[R mcp.Result](s *stage, place site, ctx context.Context, spoil func()) (R, error) {
	p := draw(place, s.seed.Load(), s.release)
	if p.spoils {
		spoil()
	}
	p.do(ctx)
	res := p.res.(R)
	if !slices.Contains(p.faults, "timeout") { // whose call may have ended without it
		last := cmp.Or[any](p.raised.err, res)
		s.last.Store(&last)
	}
	return res, p.raised.err
}

func (s *stage) server(t *testing.T, log *journal) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: silent,
		CompletionHandler: func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return playing[*mcp.CompleteResult](s, atCompletion, ctx, func() { req.Params = nil })
		}})
	mcp.AddTool(server, &mcp.Tool{Name: "healthy"}, outputs(map[string]any{"well": true}))
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return playing[*mcp.CallToolResult](s, atTool, ctx, func() { req.Params, req.Extra = nil, nil })
	})
	server.AddPrompt(&mcp.Prompt{Name: "t"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return playing[*mcp.GetPromptResult](s, atPrompt, ctx, func() { req.Params = nil })
	})
	server.AddResource(&mcp.Resource{Name: "t", URI: badScheme}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return playing[*mcp.ReadResourceResult](s, atResource, ctx, func() { req.Params = nil })
	})
	require.NoError(t, mcp.AddReceivingCustomMethod(server, customMethod, func(ctx context.Context, _ *mcp.ServerSession, _ *searchParams) (*searchResult, error) {
		return playing[*searchResult](s, atCustom, ctx, func() {})
	}))
	require.NoError(t, boundary.Install(server, &boundary.Options{Logger: log.logger(), MaxResultBytes: maxResultBytes,
		Deadline: time.Minute, LegacyDeadline: time.Minute, MaxAbandoned: 10_000, MaxAbandonedPerClient: 10_000}))
	around(server, func(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		alter(reflect.ValueOf(s.last.Load()), 12) // the author may go on changing what he returned
		return res, err
	})
	return server
}

func requestAt(place site, client *wire.Client) wire.Request {
	switch place {
	case atResource:
		return wire.Request{Method: string(place), Name: badScheme}
	case atCompletion:
		return completing(client, "t")
	case atCustom:
		return wire.Request{Method: string(place), Params: map[string]any{"_meta": client.Meta()}}
	case atTool:
		return wire.Request{Name: "t", Arguments: map[string]any{}}
	}
	return wire.Request{Method: string(place), Name: "t"}
}

// Whatever a handler does and returns, its client reads one answer that the specification
// allows, and which the seed foretells; no cause of a fault is in it; the log has one record
// of the right level; and the next call works. What can be sent goes out as it was, whatever
// the author does to it later.
func TestWhateverAHandlerDoes(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log journal
				s := &stage{release: make(chan struct{})}
				client := speak(t, era, s.server(t, &log), nil)
				defer close(s.release)
				outcomes := map[judge.Outcome]int{}
				for seed := range uint64(drawn) {
					place := sites[seed%uint64(len(sites))]
					s.seed.Store(seed)
					s.last.Store(nil)
					name := fmt.Sprintf("%s seed %d", place, seed)
					surplus := client.Surplus()
					a := read(t, place, era, say(t, client, requestAt(place, client)), name)
					outcomes[a.outcome]++
					draw(place, seed, s.release).judge(t, place, era, a, log.take(t), name)

					if place == sites[len(sites)-1] {
						require.Equal(t, judge.Complete, read(t, atTool, era, say(t, client, wire.Request{Name: "healthy"}), name).outcome, "the call after %s", name)
						require.Len(t, log.take(t), 1)
					}
					require.Equal(t, surplus, client.Surplus(), "two answers: %s", name)
				}
				want := 4
				if era == judge.Legacy {
					want = 3
				}
				require.Len(t, outcomes, want, "%v", outcomes)
				t.Log(outcomes)
			})
		})
	}
}

// drawn is how many handlers are drawn in each era.
var drawn = map[bool]int{false: 400, true: 10_000}[thorough]

// mostBytes is more than any answer of a server with this limit may take: the limit, the part of
// _meta that is not counted, and the report.
const (
	maxResultBytes = 8 << 10
	mostBytes      = maxResultBytes + 48<<10
)

// An answer is a response as a client reads it.
type answer struct {
	outcome judge.Outcome
	members map[string]any // of the result
	report  boundary.Report
	texts   []string
	code    int64
	reason  string
}

// read judges a response by the specification.
func read(t *testing.T, place site, era judge.Era, res *jsonrpc.Response, name string) (a answer) {
	t.Helper()
	var err error
	a.outcome, err = specificationOf(t, string(place), era).Judge(res)
	require.NoError(t, err, "%s: %s", name, res.Result)
	var failed *jsonrpc.Error
	all := string(res.Result)
	if errors.As(res.Error, &failed) {
		a.code, a.texts = failed.Code, []string{failed.Message}
		all = failed.Message + string(failed.Data)
		require.LessOrEqual(t, len(all), maxResultBytes, name)
		var data struct{ Reason, RequestID string }
		_ = json.Unmarshal(failed.Data, &data) // the author's data are his own
		a.reason = data.Reason
	} else {
		require.NoError(t, json.Unmarshal(res.Result, &a.members))
		require.Equal(t, era == judge.Modern, a.members["resultType"] != nil, name)
		var result mcp.CallToolResult
		if place == atTool && json.Unmarshal(res.Result, &result) == nil {
			a.report, _ = boundary.ReportOf(&result)
			a.texts, a.reason = texts(&result), a.report.Type
		}
	}
	require.NotContains(t, all, "s3cret", name)
	require.NotContains(t, all, "spoiled", name)
	require.LessOrEqual(t, len(all), mostBytes, name)
	if place == atTool {
		outcome, err := judge.Answer(era, res, nil)
		require.NoError(t, err, "%s: %s", name, res.Result)
		require.Equal(t, a.outcome, outcome, name)
		reports := outcome == judge.Complete || outcome == judge.ErrorResult
		require.Equal(t, reports, a.report.RequestID != "", name)
		require.Equal(t, outcome == judge.ErrorResult, a.report.Expected != nil, name)
		require.Equal(t, outcome == judge.ErrorResult, a.report.Type != "", name)
	}
	return a
}

// judge compares an answer with the plan of its handler.
func (p *plan) judge(t *testing.T, place site, era judge.Era, a answer, records []map[string]any, name string) {
	want, level, kinds := judge.ProtocolError, "ERROR", p.faults
	if place == atTool {
		want = judge.ErrorResult
	}
	tool, _ := p.res.(*mcp.CallToolResult)
	r := p.raised
	switch {
	case p.ends:
		r.text = ""
	case r.code != 0 && (r.inner || place != atTool):
		want, level = judge.ProtocolError, "WARN"
		require.Equal(t, r.code, a.code, name)
	case r.err != nil:
		level, kinds = r.level, []string{r.kind}
	case p.asks && era == judge.Legacy:
		return // go-sdk answers for a client that cannot be asked
	case len(p.faults) > 0:
	case p.large && place != atTool:
		kinds = []string{"too_large"}
	case tool != nil && tool.IsError:
		kinds = []string{"execution"}
	default:
		want, level = judge.Complete, "INFO"
		if p.asks {
			want = judge.InputRequired
		}
		if !p.large {
			p.unchanged(t, place, a, name)
		}
	}
	require.Equal(t, want, a.outcome, "%s: %v", name, a.texts)
	if r.text != "" {
		require.Regexp(t, r.text, a.texts[0], name)
	}
	if level != "INFO" && a.reason != "" && !slices.Equal(kinds, []string{""}) {
		require.Contains(t, kinds, a.reason, "%s: %v", name, records)
	}
	if place == atCustom && level != "ERROR" {
		return // the client alone is told
	}
	require.Len(t, records, 1, name)
	record := records[0]
	require.Equal(t, level, record["level"], "%s: %v", name, record)
	require.NotContains(t, []any{""}, record["stack"], name)
	if level == "ERROR" {
		require.Contains(t, record, "cause", name)
	}
	if place == atTool && a.outcome != judge.ProtocolError && a.outcome != judge.InputRequired {
		require.Equal(t, a.report.RequestID, record["requestId"], name)
	}
}

// unchanged holds that everything the handler returned is in the answer.
func (p *plan) unchanged(t *testing.T, place site, a answer, name string) {
	raw, err := json.Marshal(p.res)
	require.NoError(t, err, name)
	var honest map[string]any
	require.NoError(t, json.Unmarshal(raw, &honest))
	for key, value := range honest {
		got := a.members[key]
		if key == "_meta" {
			for mine, value := range value.(map[string]any) {
				require.Equal(t, value, got.(map[string]any)[mine], name)
			}
			continue
		}
		if place == atResource && (key == "cacheScope" || key == "ttlMs") && got == nil {
			continue // legacy
		}
		if value != nil && value != "" {
			require.Equal(t, value, got, "%s: %s", name, key)
		}
	}
}

// alter changes everything that can be changed in a value, down to a depth.
func alter(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch kind := v.Kind(); kind {
	case reflect.Pointer:
		alter(v.Elem(), depth-1)
	case reflect.Interface:
		if v.CanSet() && v.Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf("spoiled").Convert(v.Elem().Type()))
			return
		}
		alter(v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				alter(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			alter(v.Index(i), depth-1)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			alter(element, depth-1)
			v.SetMapIndex(key, element)
			v.SetMapIndex(reflect.ValueOf("spoiled").Convert(key.Type()), element)
		}
	case reflect.String, reflect.Uint8, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
		if v.CanSet() {
			other := map[reflect.Kind]any{reflect.String: "spoiled", reflect.Uint8: 'x', reflect.Float64: 0.25, reflect.Bool: v.IsZero()}[kind]
			v.Set(reflect.ValueOf(cmp.Or(other, any(len("spoiled")))).Convert(v.Type()))
		}
	}
}
