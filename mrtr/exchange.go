package mrtr

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
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
	asked     bool          // over its session, while this request is open
	waited    time.Duration // since the questions of the round before went out
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

// idLen is the length of an identifier.
const idLen = 32

// newID makes an identifier that nobody can guess.
func newID() string {
	var b [idLen / 2]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	var text [idLen]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// isTask reports whether a context is that of a task's round.
func isTask(ctx context.Context) bool { return rendezvous.TaskRoundOf(ctx).IsTask() }

// ClientInfo is what the client of a request calls itself: in the request, or in the initialize of
// its session.
func ClientInfo(req mcp.Request) mcp.Implementation {
	if req == nil {
		return mcp.Implementation{}
	}
	session, _ := req.GetSession().(*mcp.ServerSession)
	return clientInfo(req, session)
}

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

// NameInLog is the name of a target as a log may show it: the address of a resource without its
// user, query and fragment, which may hold secrets, and any name cut after 256 bytes.
func NameInLog(method, name string) string {
	const most = 256
	if method == resourcesRead {
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

type clientKey struct{}

// ledgerKey is the key of the ledger in the context of its round, for a listener's sake alone.
type ledgerKey struct{}
