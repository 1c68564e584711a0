package mrtr

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/listen"
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

// requestMeta is the _meta of a request, nil for one without.
func requestMeta(req mcp.Request) map[string]any {
	if req == nil || req.GetParams() == nil {
		return nil
	}
	return req.GetParams().GetMeta()
}

// nameInLog is the name as a log may show it.
func (ex *exchange) nameInLog() string {
	return (&listen.Round{Method: ex.method, Name: ex.name}).NameInLog()
}

type clientKey struct{}

// ledgerKey is the key of the ledger in the context of its round, for a listener's sake alone.
type ledgerKey struct{}
