package prove_test

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/stdio"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// transports are the ways to a server of ours.
var transports = map[string]func(*testing.T, *mcp.Server) prove.Dial{
	"http":                    overHTTP(nil),
	"http, by go-sdk's front": overHTTP(&mcphttp.HandlerOptions{StockFront: true}),
	"websocket": func(t *testing.T, server *mcp.Server) prove.Dial {
		url := listen(t, must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t))
		return func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			transport, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), &wstransport.DialOptions{Header: http.Header{"Authorization": {"Bearer " + who.Token}}})
			return &prove.Endpoint{Transport: transport}, err
		}
	},
	"stdio": func(t *testing.T, server *mcp.Server) prove.Dial {
		return func(ctx context.Context, _ *prove.Caller) (*prove.Endpoint, error) {
			input, in := io.Pipe()
			out, output := io.Pipe()
			transport := must(stdio.New(&stdio.Options{Reader: input, Writer: output}))(t)
			_, err := server.Connect(context.WithoutCancel(ctx), transport, nil)
			return &prove.Endpoint{Transport: &mcp.IOTransport{Reader: out, Writer: in}}, err
		}
	},
}

func overHTTP(opts *mcphttp.HandlerOptions) func(*testing.T, *mcp.Server) prove.Dial {
	return func(t *testing.T, server *mcp.Server) prove.Dial {
		front := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, opts))(t)
		return prove.HTTP(listen(t, front), nil)
	}
}

// listen serves whoever has a token, which names them.
func listen(t *testing.T, h http.Handler) (url string) {
	named := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token}, nil
	}
	web := httptest.NewServer(auth.RequireBearerToken(named, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h))
	t.Cleanup(web.Close)
	return web.URL
}

// Which transport a call comes by changes nothing that a rule can see. Here one style is tried
// without a store, and every one with a store plays its whole call again; nightly all are tried by
// all rules. Time, callers and crashes, which are not a transport's, are tried in memory.
func TestOurStylesKeepEveryRuleOverEveryTransport(t *testing.T) {
	require.NotEmpty(t, options.All)
	for name, over := range transports {
		for i, o := range options.All {
			for _, stored := range []bool{false, true} {
				if !nightly && i > 0 && !stored {
					continue
				}
				title, scenario, only, least := name+"/"+o.Name, weather, []string(nil), 25
				if scenario.Repeatable = !stored; stored {
					title += ", with a store"
					if only = unlessNightly("once/merged", "replay"); only != nil {
						least = 2
					}
				}
				t.Run(title, func(t *testing.T) {
					t.Parallel()
					var audits atomic.Int64
					shared := sharedStore{store.NewMemory(nil)}
					home, elsewhere := []byte(rand.Text()+rand.Text()), []byte(rand.Text()+rand.Text())
					dial := func(secret []byte) prove.Dial {
						var remembers store.Store
						if stored {
							remembers = shared
						}
						rt, server := weatherServer(t, o, secret, remembers, func(string) { audits.Add(1) })
						t.Cleanup(func() { require.NoError(t, rt.Close()) })
						return over(t, server)
					}
					report := must(prove.Run(t.Context(), prove.Subject{
						Dial: dial(home), Fresh: dial(home), Stranger: dial(elsewhere), HTTP: strings.HasPrefix(name, "http"),
						First:   &prove.Caller{Name: "ann", Token: "ann"},
						Effects: func(context.Context) (map[string]int, error) { return map[string]int{"audit": int(audits.Load())}, nil },
					}, scenario, &prove.Options{Only: only, Late: 50 * time.Millisecond}))(t)
					require.Empty(t, report.Failures(prove.Ours), report.String())
					require.GreaterOrEqual(t, report.Count(prove.Pass), least, report.String())
				})
			}
		}
	}
}

// sharedStore is the memory store of instances in one process.
type sharedStore struct{ *store.Memory }

func (sharedStore) Scope() store.Scope { return store.Machine }
