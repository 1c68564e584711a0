package page

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// maxBody bounds a visitor's POST: a state and its arguments at most.
const maxBody = 64 << 10

// fromThisMachine reports whether a request came in at a loopback address and names
// one: a web page that points its own name at 127.0.0.1 is given away by that name.
func fromThisMachine(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return (!ok || isLoopback(local.String())) && isLoopback(r.Host)
}

func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// guarded refuses requests from pages of another origin, and bodies that are not
// JSON, which such a page could send without being asked first.
func guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if foreign(r) {
			http.Error(w, "Requests from other origins are refused.", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost {
			if mime, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(mime) != "application/json" {
				http.Error(w, "The body must be application/json.", http.StatusUnsupportedMediaType)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		next(w, r)
	})
}

// SameOrigin refuses requests from pages of another origin, and those of a page whose name
// was rebound to a loopback address. Unlike the page it serves other machines.
func SameOrigin(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if foreign(r) || ok && isLoopback(local.String()) && !isLoopback(r.Host) {
			http.Error(w, "Requests from other origins are refused.", http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	return false
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the visitor may have gone
}
