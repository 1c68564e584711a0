package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// Auth admits users by a bearer token, and tells clients where to get one, as the
// specification demands of a server (RFC 9728). The user that the token names is the
// principal of the calls: a state that one user got does not open for another.
type Auth struct {
	// Verify says whose token it is (UserID), until when (Expiration), and what it may do
	// (Scopes). It returns an error that wraps auth.ErrInvalidToken for a token that was not
	// issued for Resource; if Extra holds the claim "aud", that is checked here too.
	Verify auth.TokenVerifier
	// Resource is the public URL of /mcp.
	Resource string
	// Servers are the issuers from which clients get a token for it.
	Servers []string
	// Scopes are those that a request needs: under the name of a tool or a prompt or the URI
	// of a resource those of that one, and under "" those of every request. A task needs those
	// of its tool whenever its client asks for it. A client whose token lacks one is told
	// which, so that it asks its user for that alone.
	Scopes map[string][]string
	// UserHeader is the header in which a gateway names the user of a request that it passes
	// on, such as "X-Forwarded-User". The token is then the gateway's own. Without Verify
	// the header is believed as it comes: nobody but the gateway may reach the server.
	UserHeader string
}

const wellKnown = "/.well-known/oauth-protected-resource"

func (a *Auth) check() error {
	if a.Verify == nil && a.UserHeader == "" {
		return usage.New("serve", "Auth needs Verify or UserHeader")
	}
	for _, s := range append([]string{a.Resource}, a.Servers...) {
		u, err := url.Parse(s)
		if a.Verify != nil && (err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http") {
			return usage.New("serve", "Auth.Resource and Servers are URLs: %q is none", s)
		}
	}
	return nil
}

// metadata is the path at which the resource is described, besides the one that all
// resources of a host share, and its URL.
func (a *Auth) metadata() (path, at string) {
	u, err := url.Parse(a.Resource)
	if err != nil {
		return wellKnown, ""
	}
	path = strings.TrimSuffix(wellKnown+u.Path, "/")
	return path, u.Scheme + "://" + u.Host + path
}

// describe serves the description of the resource. The scopes in it are those that a client
// cannot do without: for a tool's own it is challenged.
func (a *Auth) describe(paths *http.ServeMux) {
	if a.Verify == nil {
		return
	}
	described := auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: a.Resource, AuthorizationServers: a.Servers, ScopesSupported: a.Scopes[""], BearerMethodsSupported: []string{"header"},
	})
	own, _ := a.metadata()
	paths.Handle(wellKnown, described)
	if own != wellKnown {
		paths.Handle(own, described)
	}
}

// A refusal is a response to a request that is not admitted.
type refusal struct {
	status int
	code   string // of RFC 6750; "" if there was no token
	text   string
	scopes []string // that are needed
}

func (a *Auth) challenge(r *refusal) string {
	_, at := a.metadata()
	var params []string
	for _, p := range [][2]string{{"error", r.code}, {"scope", strings.Join(r.scopes, " ")}, {"resource_metadata", at}} {
		if p[1] != "" {
			params = append(params, fmt.Sprintf("%s=%q", p[0], p[1]))
		}
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// guard admits requests whose user is known.
func (a *Auth) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, refused := a.user(r)
		if refused == nil {
			refused = a.lacks(info, "")
		}
		if refused != nil {
			if refused.status != http.StatusInternalServerError {
				w.Header().Set("WWW-Authenticate", a.challenge(refused))
			}
			http.Error(w, refused.text, refused.status)
			return
		}
		next.ServeHTTP(w, knowing(r, info))
	})
}

// user is whose request it is.
func (a *Auth) user(r *http.Request) (info *auth.TokenInfo, _ *refusal) {
	unknown := func(code, text string) *refusal {
		return &refusal{http.StatusUnauthorized, code, text, a.Scopes[""]}
	}
	info = &auth.TokenInfo{}
	if a.Verify != nil {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "bearer") || token == "" {
			return nil, unknown("", "no bearer token")
		}
		verified, err := a.Verify(r.Context(), strings.TrimSpace(token), r)
		switch {
		case errors.Is(err, auth.ErrInvalidToken), errors.Is(err, auth.ErrOAuth):
			return nil, unknown("invalid_token", "the token is not valid")
		case err != nil || verified == nil:
			return nil, &refusal{status: http.StatusInternalServerError, text: "the token could not be verified"}
		case !verified.Expiration.After(time.Now()):
			return nil, unknown("invalid_token", "the token has expired, or does not say when it does")
		case !a.isFor(verified):
			return nil, unknown("invalid_token", "the token was issued for another server")
		}
		*info = *verified
	}
	if a.UserHeader != "" {
		named := r.Header.Values(a.UserHeader)
		if len(named) != 1 || named[0] == "" { // of two, one may be the client's
			return nil, unknown("", a.UserHeader+" has to name one user")
		}
		info.UserID = named[0]
	}
	return info, nil
}

// isFor reports whether the claim "aud" of a token, if Verify has left it, is this resource.
func (a *Auth) isFor(info *auth.TokenInfo) bool {
	switch claim := info.Extra["aud"].(type) {
	case nil:
		return true
	case string:
		return oauthex.MatchesResource([]string{claim}, a.Resource)
	case []string:
		return oauthex.MatchesResource(claim, a.Resource)
	case []any:
		return slices.ContainsFunc(claim, func(one any) bool {
			text, ok := one.(string)
			return ok && oauthex.MatchesResource([]string{text}, a.Resource)
		})
	}
	return false
}

// lacks refuses a token that lacks a scope for what is named so.
func (a *Auth) lacks(info *auth.TokenInfo, name string) *refusal {
	needed := a.Scopes[""]
	if name != "" {
		needed = slices.Concat(needed, a.Scopes[name])
	}
	for _, scope := range needed {
		if !slices.Contains(info.Scopes, scope) {
			return &refusal{http.StatusForbidden, "insufficient_scope", fmt.Sprintf("the token lacks the scope %q", scope), needed}
		}
	}
	return nil
}

// knowing puts the token of a request where go-sdk looks for it, which go-sdk's own guard
// alone can do. That asks when the token expires, which is judged already.
func knowing(r *http.Request, info *auth.TokenInfo) *http.Request {
	expires := info.Expiration
	info.Expiration = time.Time{}
	put := auth.RequireBearerToken(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return info, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	stand := (&http.Request{Header: http.Header{"Authorization": {"Bearer known"}}}).WithContext(r.Context())
	put(http.HandlerFunc(func(_ http.ResponseWriter, known *http.Request) { r = r.WithContext(known.Context()) })).ServeHTTP(nil, stand)
	info.Expiration = expires
	return r
}

// scoped refuses calls of what the token has no scope for.
func (a *Auth) scoped(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		var names []string
		switch req := req.(type) {
		case *mcp.CallToolRequest:
			names = []string{req.Params.Name}
		case *mcp.GetPromptRequest:
			names = []string{req.Params.Name}
		case *mcp.ReadResourceRequest:
			names = []string{req.Params.URI}
		case *mcp.CompleteRequest:
			if req.Params.Ref != nil {
				names = []string{req.Params.Ref.Name, req.Params.Ref.URI}
			}
		case *mcp.SubscribeRequest:
			names = []string{req.Params.URI}
		case *mcp.SubscriptionsListenRequest:
			if req.Params.Notifications != nil {
				names = req.Params.Notifications.ResourceSubscriptions
			}
		}
		for _, name := range names {
			if err := a.admit(ctx, req, name); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

// admit refuses a request whose token has no scope for what is named so. Over HTTP the response
// says so by its status, from which clients learn to ask for the scope.
func (a *Auth) admit(ctx context.Context, req mcp.Request, name string) error {
	info := auth.TokenInfoFromContext(ctx)
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		info = extra.TokenInfo
	}
	if info == nil || name == "" {
		return nil
	}
	refused := a.lacks(info, name)
	if refused == nil {
		return nil
	}
	return &mcphttp.StatusError{
		Err:    &jsonrpc.Error{Code: callerror.CodeStopped, Message: refused.text},
		Status: refused.status, Header: http.Header{"WWW-Authenticate": {a.challenge(refused)}},
	}
}

// admitAnd admits whom the program's own rule admits too, if there is one.
func (a *Auth) admitAnd(own func(context.Context, mcp.Request, string) error) func(context.Context, mcp.Request, string) error {
	return func(ctx context.Context, req mcp.Request, tool string) error {
		if err := a.admit(ctx, req, tool); err != nil || own == nil {
			return err
		}
		return own(ctx, req, tool)
	}
}
