package mrtr

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// exchange is one request, whichever of the three methods it is for.
type exchange struct {
	method    string
	name      string // of the tool or prompt, or the resource's address
	arguments json.RawMessage
	token     string
	answers   mcp.InputResponseMap
	client    era.Client
	request   mcp.Request
	work      *work         // nil for a round that lives with its request
	legacy    *legacyRounds // nil unless the state stays here between two rounds
}

// session is that of the request, nil where it has none.
func (ex *exchange) session() *mcp.ServerSession {
	if ex.request == nil {
		return nil
	}
	session, _ := ex.request.GetSession().(*mcp.ServerSession)
	return session
}

// The methods of an exchange.
const (
	toolsCall     = "tools/call"
	promptsGet    = "prompts/get"
	resourcesRead = "resources/read"
)

// clientInfo is what the client calls itself: in the request, or in the initialize of its
// session.
func clientInfo(req mcp.Request, session *mcp.ServerSession) (own mcp.Implementation) {
	switch info := requestMeta(req)[mcp.MetaKeyClientInfo].(type) {
	case map[string]any:
		own.Name, _ = info["name"].(string)
		own.Title, _ = info["title"].(string)
		own.Version, _ = info["version"].(string)
	case *mcp.Implementation:
		if info != nil {
			own = *info
		}
	default:
		if session == nil {
			break
		}
		if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
			own = *p.ClientInfo
		}
	}
	return own
}

// requestMeta is the _meta of a request, nil for one without.
func requestMeta(req mcp.Request) map[string]any {
	if req == nil || req.GetParams() == nil {
		return nil
	}
	return req.GetParams().GetMeta()
}
