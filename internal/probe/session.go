package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An Era says which of the two protocols is spoken.
type Era string

const (
	Modern Era = "modern" // 2026-07-28: version and capabilities come with every request
	Legacy Era = "legacy" // 2025-11-25: they were settled by initialize
)

// The versions that the eras stand for here.
const (
	ModernVersion = "2026-07-28"
	LegacyVersion = "2025-11-25"
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

var clientInfo = map[string]any{"name": "probe", "version": "1"}

// A Session asks over a wire in one era.
type Session struct {
	wire Wire
	era  Era
	last atomic.Int64
}

// Open begins a session: in the legacy era by the handshake, in the modern one by
// nothing. The error says why the server would not have it.
func Open(ctx context.Context, wire Wire, era Era) (*Session, error) {
	s := &Session{wire: wire, era: era}
	if era == Modern {
		return s, nil
	}
	res, err := s.Ask(ctx, "initialize", map[string]any{
		"protocolVersion": LegacyVersion, "capabilities": map[string]any{}, "clientInfo": clientInfo,
	})
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	if res.Error != nil {
		return nil, fmt.Errorf("initialize: %w", res.Error)
	}
	return s, wire.Notify(ctx, &jsonrpc.Request{Method: "notifications/initialized"})
}

// Era is the era the session was opened in.
func (s *Session) Era() Era { return s.era }

// Ask sends one request and returns the answer to it.
func (s *Session) Ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Response, error) {
	id, err := jsonrpc.MakeID("probe-" + strconv.FormatInt(s.last.Add(1), 10))
	if err != nil {
		return nil, err
	}
	params = maps.Clone(params)
	if params == nil {
		params = map[string]any{}
	}
	if s.era == Modern {
		meta, _ := params["_meta"].(map[string]any)
		meta = maps.Clone(meta)
		if meta == nil {
			meta = map[string]any{}
		}
		meta[metaVersion], meta[metaClientInfo] = ModernVersion, clientInfo
		if _, ok := meta[metaCapabilities]; !ok {
			meta[metaCapabilities] = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
		}
		params["_meta"] = meta
	}
	return s.wire.Exchange(ctx, &jsonrpc.Request{ID: id, Method: method, Params: rawParams(params)})
}

// Call calls a tool.
func (s *Session) Call(ctx context.Context, tool string, arguments any) (*jsonrpc.Response, error) {
	return s.Ask(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

var errNoAnswer = errors.New("no answer came")
