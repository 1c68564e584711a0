package listen

import (
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// Round describes the round of a request.
type Round struct {
	Call       string // the call's id; "" before its state has opened
	Intent     string // all calls that could be one have the same; "" for one that is a call of its own
	Number     int
	Method     string // tools/call, prompts/get, resources/read
	Name       string // of the tool or prompt, or the resource's address
	Principal  string
	Version    string // of the handler that the call began with
	Client     era.Client
	Request    mcp.Request
	Task       bool          // it runs for a task
	Kept       bool          // by a keeper
	HasEffects bool          // effects are remembered in this call
	Waited     time.Duration // since the questions of the round before went out
	Trace      string        // what the [Tracer] had sealed in round one
}

// NameInLog is the name as a log may show it: the address of a resource without its user, query
// and fragment, which may hold secrets, and any name cut after 256 bytes.
func (r *Round) NameInLog() string {
	const most = 256
	name := r.Name
	if r.Method == "resources/read" {
		if end := strings.IndexAny(name, "?#"); end >= 0 {
			name = name[:end]
		}
		if scheme, rest, ok := strings.Cut(name, "://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			name = scheme + "://" + rest[strings.LastIndexByte(host, '@')+1:]
		}
	}
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "..."
	}
	return name
}

// ClientInfo is what the client calls itself: in the request, or in the initialize of its session.
func (r *Round) ClientInfo() (own mcp.Implementation) {
	if r.Request == nil {
		return own
	}
	if params := r.Request.GetParams(); params != nil {
		switch info := params.GetMeta()[mcp.MetaKeyClientInfo].(type) {
		case map[string]any:
			own.Name, _ = info["name"].(string)
			own.Title, _ = info["title"].(string)
			own.Version, _ = info["version"].(string)
			return own
		case *mcp.Implementation:
			if info != nil {
				own = *info
			}
			return own
		}
	}
	if session, _ := r.Request.GetSession().(*mcp.ServerSession); session != nil {
		if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
			own = *p.ClientInfo
		}
	}
	return own
}
