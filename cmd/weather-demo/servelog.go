package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// serveLog logs one line for each round. It never logs an answer or a state.
type serveLog struct {
	mu  sync.Mutex
	out io.Writer
}

// Write lets another logger share the output, line by line.
func (l *serveLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *serveLog) printf(format string, args ...any) {
	fmt.Fprintf(l, "%s  %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

func (l *serveLog) round(call string, round int, tool, outcome string, took time.Duration) {
	l.printf("call %-8.8s  round %-2d  %-22s  %8.2fms  %s", call, round, printable(tool), float64(took.Microseconds())/1000, outcome)
}

// Observe logs the rounds that reach the engine.
func (l *serveLog) Observe(ctx context.Context, e observe.Event) {
	outcome := ""
	switch e.Kind {
	case observe.QuestionsAsked:
		outcome = strings.TrimSpace("asked " + strings.Join(e.Questions, ", "))
	case observe.CallCompleted:
		outcome = "completed"
	case observe.CallStopped:
		outcome = "stopped: " + weather.ErrorType(e.Err)
	case observe.RoundRepeated:
		outcome = "answered again, nothing was run"
	case observe.StateRefused, observe.CallAbandoned, observe.RoundRefused, observe.RoundUnknown:
		outcome = string(e.Kind) + ": " + e.Reason
	default:
		return
	}
	if seen, ok := ctx.Value(seenKey{}).(*atomic.Bool); ok {
		seen.Store(true)
	}
	l.round(cmp.Or(e.Call, "-"), e.Round, e.Name, outcome, e.Duration)
}

// seenKey is the context key of a flag: Observe has logged this request.
type seenKey struct{}

// middleware logs the calls that do not reach the engine: those of tools that ask
// nothing, and those that were refused before.
func (l *serveLog) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		seen := new(atomic.Bool)
		start := time.Now()
		res, err := next(context.WithValue(ctx, seenKey{}, seen), method, req)
		if !seen.Load() {
			l.round("-", 1, call.Params.Name, outcomeOf(res, err), time.Since(start))
		}
		return res, err
	}
}

func outcomeOf(res mcp.Result, err error) string {
	result, ok := res.(*mcp.CallToolResult)
	switch {
	case err != nil || !ok:
		return "refused"
	case result.IsError:
		face, _ := boundary.ReportOf(result)
		return "stopped: " + face.Type
	}
	return "completed"
}

// printable makes one short line of a name that a client may have made up.
func printable(name string) string {
	return shorten(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name), 40)
}
