package load_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// calm makes one call after another until ctx ends, and completes each. It
// returns how many, and the first error.
func calm(ctx context.Context, s *stand, who string, n int) (completed int, err error) {
	opts := &wire.Options{Version: wire.Modern, Unrecorded: true}
	if n%2 == 1 {
		opts.Version = wire.Legacy
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
	defer cancel()
	client, err := dialCalm(patient, s, opts, n%4 < 2)
	if err != nil {
		return 0, fmt.Errorf("%s connects: %w", who, err)
	}
	defer client.Close()
	answers := wire.Answers{"place": wire.Value("Lisbon"), "by": wire.Value("train")}
	for completed == 0 || ctx.Err() == nil { // one at least, however slow the machine
		out, err := client.Call(patient, "trip", map[string]any{"who": who}, answers)
		if err != nil {
			return completed, fmt.Errorf("%s: %w", who, err)
		}
		if out.Error != nil || out.IsError || !bytes.Contains(out.Structured, []byte(`"Lisbon"`)) {
			return completed, fmt.Errorf("%s: %s %v", who, out.Result, out.Error)
		}
		completed++
		pause(ctx, 50*time.Millisecond)
	}
	return completed, nil
}

func dialCalm(ctx context.Context, s *stand, opts *wire.Options, http bool) (*wire.Client, error) {
	if http {
		return wire.DialHTTP(ctx, s.http, nil, opts)
	}
	transport, err := wstransport.Dial(ctx, s.ws, nil)
	if err != nil {
		return nil, err
	}
	return wire.Dial(ctx, transport, opts)
}

func pause(ctx context.Context, longest time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(longest)):
	}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

func callOf(tool, members string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `",` + members + meta + `}}`
}

// slowHTTP calls for a large result and reads a little of it, or nothing, and
// leaves after a second. Each second time it sends its request slowly instead.
func slowHTTP(ctx context.Context, s *stand, n int) {
	target, _ := url.Parse(s.http) // it was made of a listener's address
	for ; ctx.Err() == nil; n++ {
		conn, err := net.Dial("tcp", target.Host)
		if err != nil {
			pause(ctx, time.Second)
			continue
		}
		body := callOf("large", "")
		request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: large\r\nContent-Length: %d\r\n\r\n%s", target.Host, len(body), body)
		if n%2 == 0 {
			_, _ = io.WriteString(conn, request[:len(request)-20])
			pause(ctx, time.Second)
		} else {
			_, _ = io.WriteString(conn, request)
			for range 10 {
				_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				_, _ = conn.Read(make([]byte, 16))
				pause(ctx, 100*time.Millisecond)
			}
		}
		_ = conn.Close()
	}
}

// slowWS asks for large results over a WebSocket and reads none.
func slowWS(ctx context.Context, s *stand) {
	for ctx.Err() == nil {
		dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}, HandshakeTimeout: 10 * time.Second}
		conn, res, err := dialer.DialContext(ctx, s.ws, nil)
		if err != nil {
			pause(ctx, time.Second)
			continue
		}
		_ = res.Body.Close()
		for range 10 {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			if conn.WriteMessage(websocket.TextMessage, []byte(callOf("large", ""))) != nil {
				break
			}
		}
		pause(ctx, 2*time.Second)
		_ = conn.Close()
	}
}

// hangUp leaves in the middle of calls, of either era.
func hangUp(ctx context.Context, s *stand, n int) {
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	for ; ctx.Err() == nil; n++ {
		calling, cancel := context.WithTimeout(ctx, time.Millisecond+rand.N(100*time.Millisecond))
		opts := &wire.Options{Unrecorded: true}
		if n%8 == 0 { // each opens a session, which stays open
			opts.Version = wire.Legacy
		}
		if client, err := wire.DialHTTP(calling, s.http, web, opts); err == nil {
			_, _ = client.Exchange(calling, wire.Request{Name: "wait", Arguments: map[string]any{}})
			_ = client.Close()
		}
		cancel()
		pause(ctx, 300*time.Millisecond)
	}
}

// hostile sends what no client should. A call of trip by it has no effect: each
// is malformed or forged.
func hostile(ctx context.Context, s *stand, n int, answered *atomic.Int64) {
	web := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer web.CloseIdleConnections()
	unknown := make([]string, 200)
	for i := range unknown {
		unknown[i] = fmt.Sprintf(`"unknown%d":1`, i)
	}
	bodies := []string{
		"", "null", "[]", "{", "\x00\xff", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		strings.Repeat("[", 100_000),
		callOf("trip", `"requestState":"forged","arguments":{"who":"hostile"},`),
		callOf("trip", `"requestState":5,"arguments":{"who":"hostile"},`),
		callOf("trip", `"inputResponses":{"place":{"action":"accept","content":{"place":"Lisbon"}},"by":{"action":"accept","content":{"by":"train"}}},"arguments":{"who":5},`),
		callOf("trip", `"arguments":{`+strings.Join(unknown, ",")+`},`),
		callOf("no_such_tool", ""),
		"[" + strings.Repeat(callOf("large", "")+",", 150) + "{}]",
		callOf("trip", `"arguments":{"who":"`+strings.Repeat("x", 1<<20)+`"},`),
		strings.Repeat("x", 5<<20),
	}
	patient := context.WithoutCancel(ctx)                                            // web has a timeout
	for tries := 0; ctx.Err() == nil || answered.Load() == 0 && tries < 5; tries++ { // one at least, however slow the machine
		body := bodies[(n+tries)%len(bodies)]
		var headers []string
		if (n+tries)%3 > 0 {
			headers = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "trip"}
		}
		if res, _, _ := fleet.Request(patient, web, http.MethodPost, s.http, body, headers...); res != nil {
			answered.Add(1)
		}
		pause(ctx, 300*time.Millisecond)
	}
}
