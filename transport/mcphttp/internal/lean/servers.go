package lean

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// receiving is the handler of all that a server receives, with the middleware that it
// has at this moment. go-sdk shows it to middleware alone, so it is asked for with one
// that adds nothing.
func receiving(server *mcp.Server) (handler mcp.MethodHandler) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		handler = next
		return next
	})
	return handler
}

// servers are those that go-sdk was asked about: how its session completes their results,
// and whether it serves a version for them.
type servers struct {
	mu    sync.Mutex
	known map[servedVersion]*serverInfo // guarded by mu
}

type servedVersion struct {
	server  weak.Pointer[mcp.Server]
	version string
}

// serverInfo is nil in the map of [servers] if the server was seen once.
type serverInfo struct {
	*mcp.Implementation        // nil if it is being asked for, or the version is not served
	text                []byte // as JSON, as go-sdk's result of a tool has it
}

// supported are the versions that some server may serve.
var supported = mcp.SupportedProtocolVersions()

// info is the name that a server gives itself in its results. It is nil if the
// request has to go to go-sdk: the version is not known to be served, or the server
// was never seen before, as every one of a program that makes one for each request.
func (l *servers) info(server *mcp.Server, pointer weak.Pointer[mcp.Server], version string) *serverInfo {
	if !slices.Contains(supported, version) {
		return nil
	}
	key := servedVersion{pointer, version}
	l.mu.Lock()
	defer l.mu.Unlock()
	info, seen := l.known[key]
	switch {
	case info != nil && info.Implementation == nil:
		return nil
	case info != nil:
		return info
	case !seen:
		if l.known == nil {
			l.known = map[servedVersion]*serverInfo{}
		}
		l.known[key] = nil
		runtime.AddCleanup(server, l.forget, key)
		return nil
	}
	l.known[key] = &serverInfo{}
	l.mu.Unlock()
	found := &serverInfo{Implementation: introduce(server, version)}
	if found.Implementation != nil {
		found.text, _ = json.Marshal(found.Implementation) // it came out of JSON
	}
	l.mu.Lock()
	l.known[key] = found
	if found.Implementation == nil {
		return nil
	}
	return found
}

func (l *servers) forget(key servedVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, key)
}

type introductionKey struct{}

// introduce has a server's session complete an empty result, which shows the name
// that it adds. It is nil if the version is not served. The middleware that makes
// the result is the server's first at this moment, so no other sees the request.
func introduce(server *mcp.Server, version string) *mcp.Implementation {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if ctx.Value(introductionKey{}) == server {
				return &mcp.CallToolResult{}, nil
			}
			return next(ctx, method, req)
		}
	})
	params, err := json.Marshal(&mcp.CallToolParams{Meta: mcp.Meta{
		mcp.MetaKeyProtocolVersion: version, mcp.MetaKeyClientCapabilities: struct{}{},
	}})
	if err != nil {
		return nil
	}
	id, err := jsonrpc.MakeID("introduction")
	if err != nil {
		return nil
	}
	c := &introduction{
		request:  &jsonrpc.Request{ID: id, Method: "tools/call", Params: params},
		response: make(chan *jsonrpc.Response, 1), closed: make(chan struct{}),
	}
	session, err := server.Connect(context.WithValue(context.Background(), introductionKey{}, server), c, nil)
	if err != nil {
		return nil
	}
	defer session.Close()
	response := <-c.response
	var result struct {
		Meta struct {
			Info *mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if response.Error != nil || json.Unmarshal(response.Result, &result) != nil {
		return nil
	}
	return result.Meta.Info
}

// introduction is the connection of a session with one request. It is its own
// transport.
type introduction struct {
	request  *jsonrpc.Request // nil when it was read
	response chan *jsonrpc.Response
	closing  sync.Once
	closed   chan struct{}
}

func (c *introduction) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c *introduction) SessionID() string { return "" }

func (c *introduction) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

func (c *introduction) Read(context.Context) (jsonrpc.Message, error) {
	if request := c.request; request != nil {
		c.request = nil
		return request, nil
	}
	<-c.closed
	return nil, io.EOF
}

func (c *introduction) Write(_ context.Context, message jsonrpc.Message) error {
	if response, ok := message.(*jsonrpc.Response); ok {
		c.response <- response
	}
	return nil
}
