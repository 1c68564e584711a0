package wstransport

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/gorilla/websocket"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/transport/internal/origin"
)

// A gate decides, before the upgrade, whose handshake is answered. It holds
// checked options.
type gate struct {
	guard   *origin.Guard
	options HandlerOptions
	log     *slog.Logger
}

func newGate(opts *HandlerOptions) (*gate, error) {
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	guard, err := origin.NewGuard(o.AllowedHosts, o.AllowedOrigins)
	if err != nil {
		return nil, usage.New("wstransport", "HandlerOptions.%w", err)
	}
	g := &gate{guard: guard, options: o, log: o.Logger}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	return g, nil
}

// check returns nil when r may be upgraded.
func (g *gate) check(r *http.Request) *RefusedError {
	if err := g.guard.Check(r); err != nil {
		why := byOrigin
		if errors.Is(err, origin.ErrForeignHost) {
			why = byHost
		}
		return &RefusedError{StatusCode: http.StatusForbidden, Message: "Forbidden: " + err.Error(), why: why}
	}
	switch {
	case !websocket.IsWebSocketUpgrade(r):
		return &RefusedError{StatusCode: http.StatusUpgradeRequired, Message: "this endpoint speaks WebSocket only"}
	case !slices.Contains(websocket.Subprotocols(r), Subprotocol):
		return &RefusedError{StatusCode: http.StatusBadRequest, Message: fmt.Sprintf("the client must offer the subprotocol %q", Subprotocol)}
	}
	return nil
}

// refuse sends the response that e describes.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, e *RefusedError) {
	g.tell(cmp.Or(e.why, byHandshake))
	g.log.Warn("websocket handshake refused", "remote", r.RemoteAddr, "status", e.StatusCode, "reason", e.Message,
		"host", r.Host, "origin", r.Header.Get("Origin"))
	if e.StatusCode == http.StatusUpgradeRequired {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
	}
	http.Error(w, e.Message, e.StatusCode)
}
