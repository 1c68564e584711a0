package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// traced are the methods whose messages -trace prints.
var traced = []string{"tools/call", "elicitation/create"}

// trace prints the messages of calls, on either side of the server: the params of
// a request under asked, and its result under answered. It prints arguments and
// answers, so it is off unless somebody asks for it.
func (l *serveLog) trace(asked, answered string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !slices.Contains(traced, method) {
				return next(ctx, method, req)
			}
			l.message(asked+"  "+method, req.GetParams())
			res, err := next(ctx, method, req)
			if err != nil {
				l.message(answered+"  error", map[string]string{"message": err.Error()})
			} else {
				l.message(answered+"  result", res)
			}
			return res, err
		}
	}
}

// message prints one message as a block, so that blocks of other calls stand
// above or below it.
func (l *serveLog) message(head string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		l.printf("%s: not printed: %v", head, err)
		return
	}
	var b strings.Builder
	tracer{w: &b}.message(head, raw)
	fmt.Fprint(l, b.String())
}
