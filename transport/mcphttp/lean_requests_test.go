package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// generator makes requests that are right, or wrong or unusual in a few places.
type generator struct {
	*rand.Rand
	odds int // against each place being unusual, to one
}

func newGenerator(seed uint64) *generator { return &generator{Rand: rand.New(rand.NewPCG(1, seed))} }

func (g *generator) rarely() bool { return g.IntN(g.odds) == 0 }

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

// mostly is usual in most cases, and else one of the others.
func (g *generator) mostly(usual string, others ...string) string {
	if !g.rarely() {
		return usual
	}
	return g.one(others...)
}

func (g *generator) post() post { return g.postAgainst([]int{20, 60, 500}[g.IntN(3)]) }

// usualPost is more likely to come to a handler.
func (g *generator) usualPost() post { return g.postAgainst([]int{60, 500}[g.IntN(2)]) }

func (g *generator) postAgainst(odds int) post {
	g.odds = odds
	method := g.mostly(g.one("tools/call", "tools/call", "tools/call", "prompts/get", "resources/read", "tools/list"), "server/discover", "subscriptions/", "ping", "nothing")
	name := "observe"
	switch method {
	case "tools/call":
		name = g.one("observe", "observe", "bound", "nested", "notify", "fail", "fail", "trip", "unknown")
	case "prompts/get":
		name = g.mostly("observe", "unknown", "")
	case "resources/read":
		name = g.mostly("test://x", "test://gone", "other://y", "test://ü", "")
	case "tools/list":
		name = ""
	}
	version := g.mostly("2026-07-28", "2025-11-25", "2027-01-01", "")
	return post{g.headers(method, name, version), g.damage(g.message(method, name, version))}
}

func (g *generator) headers(method, name, version string) string {
	lines := []string{
		g.mostly("Content-Type: application/json", "Content-Type: application/json; charset=utf-8", "Content-Type: text/plain", "X: y"),
		g.mostly("Accept: application/json, text/event-stream", "Accept: */*", "Accept: application/*,text/*", "Accept: text/event-stream",
			"Accept: application/json\nAccept: text/event-stream", "Accept: application/json;q=1, text/event-stream;q=0.5", "Accept: application/jsonp, text/event-stream", "X: y"),
		g.mostly("Mcp-Method: "+method, "Mcp-Method: tools/list", "Mcp-Method: Tools/Call", "X: y", "Mcp-Method: "+method+"\nMcp-Method: "+method),
		g.mostly("Mcp-Name: "+name, "Mcp-Name: other", "Mcp-Name: =?base64?b2JzZXJ2ZQ==?=", "Mcp-Name: =?base64?dGVzdDovL8O8?=", "Mcp-Name: ", "X: y"),
		g.mostly("Mcp-Protocol-Version: "+version, "Mcp-Protocol-Version: 2026-07-28", "X: y"),
	}
	if method == "tools/list" {
		lines[3] = g.mostly("X: y", "Mcp-Name: ", "Mcp-Name: observe")
	}
	if (name == "bound" || name == "nested") && g.IntN(2) == 0 || g.rarely() {
		lines = append(lines, g.one("Mcp-Param-Region: eu", "Mcp-Param-Zone: 3", "Mcp-Param-Region: eu\nMcp-Param-Zone: 3", "Mcp-Param-Other: x", "Mcp-Param-Region: =?base64?ZXU=?="))
	}
	if g.rarely() {
		lines = append(lines, g.one("Last-Event-ID: x_1", "Mcp-Session-Id: abc", "Origin: null", "Mcp-Extra: a\nMcp-Extra: b"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (g *generator) message(method, name, version string) string {
	members := []string{
		`"jsonrpc":` + g.mostly(`"2.0"`, `"1.0"`, `2.0`, `"2\u002e0"`),
		`"method":` + g.mostly(`"`+method+`"`, `"tools\/call"`, `""`, `5`, `null`),
		`"params":` + g.mostly(g.params(method, name, version), `null`, `[]`, `{}`, `"x"`),
	}
	if !g.rarely() {
		members = append(members, `"id":`+g.mostly(g.one(`1`, `0`, `"a"`, `"<&>"`, `-7`),
			`null`, `1.0`, `1.5`, `1e2`, `-0`, `007`, `9007199254740993`, `123456789012345`, `1234567890123456`, `""`, `"é"`, `"\u0041"`, `{}`, `true`))
	}
	return g.object(members, `"result":{}`, `"error":{"code":1}`, `"error":5`, `"Method":"ping"`, `"extra":[1,{"a":null}]`, `"id":2`, `"\u0069d":3`, `"method":"ping"`)
}

// object joins members in any order, sometimes with another one or one of them twice.
func (g *generator) object(members []string, others ...string) string {
	if g.rarely() {
		members = append(members, g.one(others...))
	}
	if g.rarely() && len(members) > 0 {
		members = append(members, g.one(members...))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	space := g.mostly("", " ", "\n\t", "\r\n", "\u00a0")
	return "{" + space + strings.Join(members, space+","+space) + space + "}"
}

func (g *generator) params(method, name, version string) string {
	key := "name"
	if method == "resources/read" {
		key = "uri"
	}
	members := []string{
		`"` + g.mostly(key, "name", "uri", "Name", `n\u0061me`) + `":` + g.mostly(fmt.Sprintf("%q", name), `"observ\u0065"`, `7`, `null`, `"other"`),
		`"_meta":` + g.mostly(g.meta(version), `{}`, `null`, `7`),
	}
	if method == "tools/list" {
		return g.page(version)
	}
	if g.IntN(4) > 0 {
		members = append(members, `"arguments":`+g.mostly(g.arguments(name), `null`, `[1]`, `"x"`, `{}`, `{"a":1,"a":null}`, `{"a":"x"}`))
	}
	if g.IntN(3) == 0 {
		members = append(members, `"inputResponses":`+g.mostly(g.responses(), `null`, `[]`, `{}`, `7`))
	}
	if g.IntN(3) == 0 {
		members = append(members, `"requestState":`+g.mostly(`"Lisbon"`, `null`, `7`, `"\ud800"`, `""`))
	}
	return g.object(members, `"task":{"ttl":1}`, `"Arguments":{"a":1}`, `"x":`+g.value(3), `"_Meta":{}`)
}

func (g *generator) page(version string) string {
	members := []string{`"_meta":` + g.mostly(g.meta(version), `{}`, `null`, `7`)}
	if g.IntN(4) == 0 {
		members = append(members, `"cursor":`+g.mostly(`""`, `"x"`, `null`, `7`, `"\ud800"`))
	}
	return g.object(members, `"name":"observe"`, `"Cursor":"x"`)
}

func (g *generator) meta(version string) string {
	members := []string{
		g.mostly(versionMember, `"io.modelcontextprotocol\/protocolVersion"`, `"v"`) + `:` + g.mostly(`"`+version+`"`, `"2026-07-28"`, `"2027-01-01"`, `7`),
		g.mostly(capabilitiesMember, `"c"`) + `:` + g.mostly(g.one(`{}`, `{"elicitation":{}}`, `{"elicitation":{"url":{}},"roots":{}}`), `null`, `7`, `{"elicitation":7}`),
	}
	if g.IntN(2) == 0 {
		members = append(members, clientMember+`:`+g.mostly(`{"name":"c","version":"1"}`, `7`, `null`))
	}
	if g.IntN(4) == 0 {
		members = append(members, g.one(`"progressToken":1`, `"progressToken":1e3`, `"progressToken":{"a":1.5}`, `"io.modelcontextprotocol/logLevel":"debug"`, `"deep":`+g.value(3)))
	}
	return g.object(members, versionMember+`:"2025-11-25"`, `"x":1e999`)
}

func (g *generator) arguments(name string) string {
	switch name {
	case "bound", "nested":
		members := []string{g.one(`"region":"eu"`, `"region":null`, `"n":3`), g.mostly(`"x":1`, `"region":"\u0065u"`, `"r\u0065gion":"eu"`)}
		if g.IntN(2) == 0 {
			members = append(members, `"deep":`+g.one(`{"zone":3}`, `{"zone":null}`, `{"other":{"zone":3}}`, `{}`, `7`, `{"zone":3.0}`))
		}
		return g.object(members, `"region":null`, `"deep":null`)
	case "fail":
		return fmt.Sprintf(`{"Code":%s,"Wrap":%t,"Notify":%t}`, g.one("0", "-32601", "-32602", "-32603", "-32020", "-32021", "-32022", "-31000", "7"), g.IntN(2) == 0, g.IntN(3) == 0)
	case "trip":
		return `{"who":` + g.mostly(`"Ada"`, `7`, `null`) + `}`
	}
	members := []string{}
	for range g.IntN(4) {
		members = append(members, g.mostly(g.one(`"a"`, `"b"`, `"c"`), `"é"`, `""`, `"a\nb"`)+`:`+g.value(4))
	}
	return g.object(members, `"a":null`, `"region":"eu"`)
}

func (g *generator) responses() string {
	var members []string
	for _, key := range []string{"place", "by", "other"} {
		if g.IntN(2) == 0 {
			continue
		}
		members = append(members, `"`+key+`":`+g.mostly(
			g.object([]string{`"action":` + g.mostly(`"accept"`, `"decline"`, `7`, `null`, `"x"`), `"content":` + g.mostly(`{"`+key+`":"Rome"}`, `null`, `7`, `{"a":`+g.value(3)+`}`)},
				`"_meta":{"a":1}`, `"Action":"decline"`, `"role":"user"`, `"roots":[]`, `"x":1`),
			`{"roots":[{"uri":"file:///x"}]}`, `{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`, `{}`, `null`, `7`, `{"action":"cancel"}`))
	}
	return g.object(members, `"place":{"action":"cancel"}`, `"x":{}`)
}

func (g *generator) value(depth int) string {
	if depth == 0 || g.IntN(3) > 0 {
		return g.mostly(g.one(`1`, `-2.5`, `true`, `false`, `null`, `"x"`, `"\n\"\\\/\u00e9\ud83d\ude00"`, `"<é\u2028>"`, `"\ud800"`, `[]`, `{}`), `1e2`, `1e999`, `-0`, `123456789012345678901234567890`,
			`01`, `tru`, `"\x"`, `"`+"\xff"+`"`, `1.`)
	}
	if g.IntN(2) == 0 {
		return "[" + g.value(depth-1) + "," + g.value(depth-1) + "]"
	}
	return `{` + g.one(`"a"`, `"b"`, `"a\u0062"`) + `:` + g.value(depth-1) + `,"z":` + g.value(depth-1) + `}`
}

// damage alters bytes of a few bodies.
func (g *generator) damage(body string) string {
	if !g.rarely() {
		return body
	}
	switch g.IntN(5) {
	case 0:
		return body[:g.IntN(len(body))]
	case 1:
		i := g.IntN(len(body))
		return body[:i] + string(rune(g.IntN(256))) + body[i+1:]
	case 2:
		return body + g.one(" ", "\n", "x", "{}", ",")
	case 3:
		return g.one(" ", "\ufeff", "\n\n") + body
	}
	return "[" + body + "]"
}

// observed is all that a handler can see of its call, so that two ways by which a
// call may come are compared at the handler and not only at the client.
type observed struct {
	Params     any
	Arguments  string // as they are spelled
	Headers    map[string][]string
	User       string
	Session    string
	Version    string
	Client     any
	Stream     bool // CloseSSEStream is there
	Limited    bool // the context has a deadline
	Ended      string
	Middleware []string
	PingFails  string
	RootsFail  string
}

type passedKey struct{}

func observe(ctx context.Context, session *mcp.ServerSession, extra *mcp.RequestExtra, params any) string {
	o := observed{Params: params, Headers: extra.Header, Session: session.ID(), Stream: extra.CloseSSEStream != nil}
	if call, ok := params.(*mcp.CallToolParamsRaw); ok {
		o.Arguments = string(call.Arguments)
	}
	if extra.TokenInfo != nil {
		o.User = extra.TokenInfo.UserID
	}
	if init := session.InitializeParams(); init != nil {
		o.Version, o.Client = init.ProtocolVersion, init
	}
	_, o.Limited = ctx.Deadline()
	o.Ended = fmt.Sprint(ctx.Err())
	o.Middleware, _ = ctx.Value(passedKey{}).([]string)
	if err := session.Ping(ctx, nil); err != nil {
		o.PingFails = err.Error()
	}
	if _, err := session.ListRoots(ctx, nil); err != nil { //nolint:staticcheck // legacy servers use it
		o.RootsFail = err.Error()
	}
	extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: time.Second})
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// leanSubject is a server whose answers are the same each time that it is asked the
// same, with every kind of thing that a call may lead to.
func leanSubject(opts *mcp.ServerOptions) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "subject", Version: "1"}, opts)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			passed, _ := ctx.Value(passedKey{}).([]string)
			return next(context.WithValue(ctx, passedKey{}, append(passed, method)), method, req)
		}
	})
	anything := map[string]any{"type": "object"}
	rendezvous.AddTool(server, &mcp.Tool{Name: "observe", InputSchema: anything}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(observe(ctx, req.Session, req.Extra, req.Params))
	})
	// An argument of these has to be repeated in a header. With two in one schema
	// go-sdk would choose at random of which one it complains.
	for name, properties := range map[string]string{
		"bound":  `"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer"}`,
		"nested": `"deep":{"type":"object","properties":{"zone":{"type":"integer","x-mcp-header":"Zone"}}}`,
	} {
		schema := json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)
		rendezvous.AddTool(server, &mcp.Tool{Name: name, InputSchema: schema}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say(string(req.Params.Arguments))
		})
	}
	rendezvous.AddTool(server, &mcp.Tool{Name: "notify", InputSchema: anything}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var failures []error
		for i := range 3 {
			failures = append(failures, req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "<é\u2028>", Progress: float64(i)}))
		}
		// Outside of every call there is nobody to notify.
		failures = append(failures, req.Session.NotifyProgress(context.Background(), &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 9}))
		return say(fmt.Sprint(failures))
	})
	rendezvous.AddTool(server, &mcp.Tool{Name: "fail", InputSchema: anything}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var how struct {
			Code   int64
			Wrap   bool
			Notify bool
		}
		_ = json.Unmarshal(req.Params.Arguments, &how)
		if how.Notify {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1})
		}
		if how.Code == 0 {
			return nil, errors.New("no error of the protocol")
		}
		err := error(&jsonrpc.Error{Code: how.Code, Message: "failed to extract name from parameters <&>", Data: json.RawMessage(`{"a": 1}`)})
		if how.Wrap {
			err = fmt.Errorf("wrapped: %w", err)
		}
		return nil, err
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "trip"}, wire.Trip)
	addObservers(server)
	return server
}

// addObservers adds a prompt and resources that show what they were given.
func addObservers(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{Name: "observe"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: observe(ctx, req.Session, req.Extra, req.Params)}}}}, nil
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "observe", URITemplate: "test://{x}"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.Params.URI == "test://gone" {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: observe(ctx, req.Session, req.Extra, req.Params)}}}, nil
	})
}
