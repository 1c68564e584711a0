package mcphttp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard keeps out what a browser was tricked into sending.
type guard struct {
	hosts   []string
	origins *http.CrossOriginProtection
}

func newGuard(hosts, origins []string) (guard, error) {
	g := guard{origins: http.NewCrossOriginProtection()}
	for _, name := range hosts {
		if name == "" || name != hostname(name) || strings.ContainsAny(name, "/ ") {
			return guard{}, fmt.Errorf("mcphttp: %q in HandlerOptions.AllowedHosts is not a lower-case host name without port", name)
		}
		g.hosts = append(g.hosts, name)
	}
	for _, origin := range origins {
		if err := g.origins.AddTrustedOrigin(origin); err != nil {
			return guard{}, fmt.Errorf("mcphttp: HandlerOptions.AllowedOrigins: %w", err)
		}
	}
	return g, nil
}

var (
	errForeignHost   = errors.New("the Host header names another server")
	errForeignOrigin = errors.New("cross-origin request")
)

func (g guard) check(r *http.Request) error {
	if !g.hostAllowed(r) {
		return errForeignHost
	}
	// The standard protection lets a cross-origin GET pass, because a GET ought
	// to have no effect. Here it opens the stream of a session.
	if r.Method != http.MethodPost {
		post := *r
		post.Method = http.MethodPost
		r = &post
	}
	if g.origins.Check(r) != nil {
		return errForeignOrigin
	}
	return nil
}

func (g guard) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	if slices.Contains(g.hosts, name) {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && isLoopback(hostname(local.String())) {
		return isLoopback(name)
	}
	return len(g.hosts) == 0
}

// hostname is a Host header or an address without port, brackets, upper case and
// the dot of a fully qualified name.
func hostname(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
