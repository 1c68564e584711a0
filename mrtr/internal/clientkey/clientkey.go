// Package clientkey finds the idempotency key that a client sends with a call.
package clientkey

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Of is the header Idempotency-Key, or a member of _meta, "" without one.
func Of(_ context.Context, req mcp.Request) string {
	if extra := req.GetExtra(); extra != nil {
		if key := extra.Header.Get("Idempotency-Key"); key != "" {
			return key
		}
	}
	if req.GetParams() == nil {
		return ""
	}
	meta := req.GetParams().GetMeta()
	for _, name := range []string{"idempotencyKey", "idempotency-key", "io.modelcontextprotocol/idempotencyKey"} {
		if key, _ := meta[name].(string); key != "" {
			return key
		}
	}
	return ""
}
