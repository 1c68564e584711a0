package wstransport

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/websocket"
)

// A gate decides, before the upgrade, whose handshake is answered. It holds
// checked options.
type gate struct {
	origins []string
	hosts   []string
	limits  Limits
	log     *slog.Logger
}

func newGate(opts *AcceptOptions) (*gate, error) {
	if opts == nil {
		opts = &AcceptOptions{}
	}
	limits, err := opts.withDefaults(DefaultAcceptReadLimit)
	if err != nil {
		return nil, err
	}
	g := &gate{limits: limits, log: opts.Logger}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for _, o := range opts.AllowedOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(o, u.Scheme+"://"+u.Host) {
			return nil, fmt.Errorf("wstransport: allowed origin %q is not of the form scheme://host[:port]", o)
		}
		g.origins = append(g.origins, strings.ToLower(o))
	}
	for _, h := range opts.AllowedHosts {
		if h == "" || strings.ContainsAny(h, "/ ") {
			return nil, fmt.Errorf("wstransport: allowed host %q is not of the form host[:port]", h)
		}
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	return g, nil
}

// check returns nil when r may be upgraded.
func (g *gate) check(r *http.Request) *RefusedError {
	switch {
	case !g.hostAllowed(r):
		return &RefusedError{StatusCode: http.StatusForbidden, Message: fmt.Sprintf("host %q is not served here", r.Host)}
	case !g.originAllowed(r):
		return &RefusedError{StatusCode: http.StatusForbidden, Message: fmt.Sprintf("origin %q is not allowed", r.Header.Get("Origin"))}
	case !websocket.IsWebSocketUpgrade(r):
		return &RefusedError{StatusCode: http.StatusUpgradeRequired, Message: "this endpoint speaks WebSocket only"}
	case !slices.Contains(websocket.Subprotocols(r), Subprotocol):
		return &RefusedError{StatusCode: http.StatusBadRequest, Message: fmt.Sprintf("the client must offer the subprotocol %q", Subprotocol)}
	}
	return nil
}

func (g *gate) originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	if slices.Contains(g.origins, strings.ToLower(origins[0])) {
		return true
	}
	// The scheme is not compared: behind a proxy that ends TLS this server
	// cannot know its own.
	u, err := url.Parse(origins[0])
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func (g *gate) hostAllowed(r *http.Request) bool {
	if len(g.hosts) > 0 {
		host := strings.ToLower(r.Host)
		return slices.Contains(g.hosts, host) || slices.Contains(g.hosts, withoutPort(host))
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || !isLoopback(local.String()) || isLoopback(r.Host)
}

func withoutPort(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}

func isLoopback(host string) bool {
	host = strings.Trim(withoutPort(host), "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// refuse sends the response that e describes.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, e *RefusedError) {
	g.log.Warn("websocket handshake refused", "remote", r.RemoteAddr, "status", e.StatusCode, "reason", e.Message)
	if e.StatusCode == http.StatusUpgradeRequired {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
	}
	http.Error(w, e.Message, e.StatusCode)
}
