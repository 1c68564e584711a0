package page

import (
	"context"
	"net"
	"net/http"
)

// withLocalAddr is the context of a request that came in at this address.
func withLocalAddr(ctx context.Context, addr net.Addr) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, addr)
}
