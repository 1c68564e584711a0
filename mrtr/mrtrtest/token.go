package mrtrtest

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// withToken returns a context in which auth.TokenInfoFromContext finds the token.
// go-sdk exports no other way to make one than its middleware.
func withToken(ctx context.Context, token *auth.TokenInfo) context.Context {
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return token, nil }
	within := ctx
	capture := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { within = r.Context() })
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	request.Header.Set("Authorization", "Bearer "+token.UserID)
	auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(capture).ServeHTTP(httptest.NewRecorder(), request)
	return within
}
