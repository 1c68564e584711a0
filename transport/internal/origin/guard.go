// Package origin refuses requests that a browser was tricked into sending: those
// of a page with another origin, and those of a page whose name was rebound to a
// loopback address.
package origin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The errors of [Guard.Check]. They are fit for a client to read.
var (
	ErrForeignHost   = errors.New("the Host header names another server")
	ErrForeignOrigin = errors.New("cross-origin request")
)

// Guard judges the Host and the origin of requests.
type Guard struct {
	hosts, origins []string // in lower case
	protection     *http.CrossOriginProtection
}

// NewGuard makes a guard from the options AllowedHosts and AllowedOrigins of a transport,
// either of which may be empty. A page whose name was rebound to 127.0.0.1 has the same
// origin as the server, and only that name gives it away. The error names the option and
// the entry that does not fit it.
func NewGuard(hosts, origins []string) (*Guard, error) {
	g := &Guard{hosts: slices.Clone(hosts), protection: http.NewCrossOriginProtection()}
	for _, name := range hosts {
		if name == "" || name != hostname(name) || strings.ContainsAny(name, "/ *") {
			return nil, fmt.Errorf("AllowedHosts: %q is not a lower-case host name without port", name)
		}
	}
	for _, o := range origins {
		if err := g.protection.AddTrustedOrigin(strings.ToLower(o)); err != nil {
			return nil, fmt.Errorf("AllowedOrigins: %w", err)
		}
		g.origins = append(g.origins, strings.ToLower(o))
	}
	return g, nil
}

// Lists reports whether any origin is listed.
func (g *Guard) Lists() bool { return len(g.origins) > 0 }

// Listed reports whether an origin is one of the list.
func (g *Guard) Listed(origin string) bool {
	return slices.Contains(g.origins, strings.ToLower(origin))
}

// Check returns [ErrForeignHost], [ErrForeignOrigin] or nil.
func (g *Guard) Check(r *http.Request) error {
	switch {
	case !g.hostAllowed(r):
		return ErrForeignHost
	case !g.originAllowed(r):
		return ErrForeignOrigin
	}
	return nil
}

func (g *Guard) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	return slices.Contains(g.hosts, name) || onLoopback(r) && isLoopback(name) || !onLoopback(r) && len(g.hosts) == 0
}

// onLoopback reports whether a request came to a loopback address.
func onLoopback(r *http.Request) bool {
	switch local := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return local.IP.IsLoopback()
	case net.Addr:
		return isLoopback(hostname(local.String()))
	}
	return false
}

func (g *Guard) originAllowed(r *http.Request) bool {
	origins, site := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(origins) == 0 && len(site) == 0 {
		return true
	}
	if len(origins) > 1 || len(origins) == 1 && origins[0] == "" {
		return false // no browser sends that
	}
	// The standard protection lets any cross-origin GET pass, because a GET ought
	// to have no effect. Here one opens a stream or a WebSocket. It compares by
	// case, too.
	judged := &http.Request{Method: http.MethodPost, URL: r.URL, Host: strings.ToLower(r.Host), Header: http.Header{"Sec-Fetch-Site": site}}
	if len(origins) == 1 {
		judged.Header.Set("Origin", strings.ToLower(origins[0]))
	}
	return g.protection.Check(judged) == nil
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
