package wstransport

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

const limit = 100_000

// ends are the ways in which a peer ends its connection, with the code that it is told and
// the cause that a running call has.
var ends = []struct {
	explanation string
	frames      []string // none for a peer that is gone
	code        int
	cause       string
}{
	{"a binary message", []string{frame(0x82, call("1", "echo", "{}"))}, 1003, "closed with code 1003: messages must be text"},
	{"text that is not JSON", []string{frame(0x81, "hello")}, 1007, "1007"},
	{"an empty message", []string{frame(0x81, "")}, 1007, "1007"},
	{"JSON that is not JSON-RPC", []string{frame(0x81, `{"id":2,"method":"ping"}`)}, 1007, "closed with code 1007: not JSON-RPC 2.0"},
	{"two messages in one", []string{frame(0x81, call("1", "echo", "{}")+call("2", "echo", "{}"))}, 1007, "1007"},
	{"a batch", []string{frame(0x81, "["+call("1", "echo", "{}")+"]")}, 1007, "1007"},
	{"text that is not UTF-8", []string{frame(0x81, "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}")}, 1007, "1007"},
	{"a message one byte over the limit", []string{frame(0x81, strings.Repeat(" ", limit+1))}, 1009, "closed with code 1009"},
	{"a message far over the limit", []string{frame(0x81, strings.Repeat(" ", 30*limit))}, 1009, "1009"},
	{"pieces over the limit", []string{frame(0x01, strings.Repeat(" ", limit)), frame(0x80, " ")}, 1009, "1009"},
	{"2^63-1 bytes", []string{"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"}, 1009, "1009"},
	{"a length with the sign bit", []string{"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"}, 1009, "1009"},
	{"a reserved bit", []string{frame(0xc1, "")}, 1002, "closed with code 1002"},
	{"an unknown opcode", []string{frame(0x83, "")}, 1002, "1002"},
	{"no mask", []string{"\x81\x02{}"}, 1002, "1002"},
	{"a continuation of nothing", []string{frame(0x80, "x")}, 1002, "1002"},
	{"goodbye", []string{frame(0x88, "\x03\xe8bye")}, 1000, "EOF"},
	{"goodbye without a code", []string{frame(0x88, "")}, 1005, "EOF"},
	{"a page that is left", []string{frame(0x88, "\x03\xe9")}, 1001, "peer closed with code 1001"},
	{"a code of its own", []string{frame(0x88, "\x0f\xa0moved")}, 4000, "peer closed with code 4000: moved"},
	{"a code that must not be sent", []string{frame(0x88, "\x03\xed")}, 1002, "wstransport: closed with code 1002"},
	{"half a header", []string{"\x81\xfe\x10"}, 1006, "connection lost"},
	{"nothing more", nil, 1006, "wstransport: connection lost: "},
}

// Random messages in random pieces, with pings between them, get the answers that they have
// in memory, under their ids as they were written. However the peer then ends, it is told
// why, the call that still runs learns it, and nothing is left.
func TestTheSocketAnswersAsMemoryDoes(t *testing.T) {
	for i, end := range ends {
		for seed := range uint64(3) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				s := newSite(t, HandlerOptions{MaxMessageBytes: limit})
				p := s.dial([]string{"", "ann"}[seed%2])
				s.wait(p, "1")
				want := map[string]string{}
				for i := range r.IntN(10) {
					id := []string{"%d9007199254740993", "-%d", `"%d"`, "%d000000000000000000000000000001"}[i%4]
					id = fmt.Sprintf(id, i+2)
					text := []func(string) string{
						func(id string) string {
							return call(id, "echo", fmt.Sprintf(`{"x":%q}`, strings.Repeat("é", r.IntN(40_000))))
						},
						func(id string) string { return call(id, "none", "{}") },
						func(id string) string { return request(id, "tools/list", "") },
						func(id string) string { return request(id, "unknown", "") },
						func(id string) string { return request(id, "ping", "") },
					}[r.IntN(5)]
					body := text("7")
					want[id] = inMemory(t, s.server, body)
					p.frames(pieces(r, strings.Replace(body, `"id":7`, `"id":`+id, 1))...)
					p.send(`{"jsonrpc":"2.0","method":"notifications/unknown"}`)
				}
				for range len(want) {
					got := p.next()
					require.Contains(t, want, string(got.ID))
					require.Equal(t, want[string(got.ID)], outcome(got), end.explanation)
					delete(want, string(got.ID))
				}
				if end.frames == nil {
					require.NoError(t, p.Close())
				} else {
					go func() { _, _ = p.NetConn().Write([]byte(strings.Join(end.frames, ""))) }()
				}
				if end.code != 1006 {
					require.Equal(t, end.code, p.code(), end.explanation)
				}
				synctest.Wait()
				_ = p.Close()
				require.ErrorContains(t, <-s.causes, end.cause, end.explanation)
				<-s.served
			})
		}
	}
}

// inMemory is the outcome of a message over a connection of go-sdk's own.
func inMemory(t *testing.T, server *mcp.Server, body string) string {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	session, err := server.Connect(t.Context(), near, nil)
	require.NoError(t, err)
	defer session.Close()
	c, err := far.Connect(t.Context())
	require.NoError(t, err)
	defer c.Close()
	msg, err := jsonrpc.DecodeMessage([]byte(body))
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), msg))
	answer, err := c.Read(t.Context())
	require.NoError(t, err)
	text, err := jsonrpc.EncodeMessage(answer)
	require.NoError(t, err)
	var m rpc
	require.NoError(t, json.Unmarshal(text, &m))
	return outcome(m)
}

func outcome(m rpc) string {
	if m.Error != nil {
		return fmt.Sprint(m.Error.Code)
	}
	return string(m.Result)
}

// pieces are the frames of a text, with pings and pongs between them.
func pieces(r *rand.Rand, text string) (frames []string) {
	first := byte(0x01)
	for r.IntN(3) > 0 {
		n := r.IntN(len(text) + 1)
		frames = append(frames, frame(first, text[:n]), frame(byte(0x89+r.IntN(2)), "p"))
		first, text = 0, text[n:]
	}
	return append(frames, frame(0x80|first, text))
}

// The client's side keeps the same rules, and its Read heeds its context.
func TestTheClientsSide(t *testing.T) {
	for frames, code := range map[string]int{"\x82\x02{}": 1003, frame(0x81, "{}"): 1002, "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff": 1009, "": 1000} {
		synctest.Test(t, func(t *testing.T) {
			near, far := pipe(t)
			transport := &transport{conn: newConn(far, 1000)}
			connection, err := transport.Connect(t.Context())
			require.NoError(t, err)
			_, err = transport.Connect(t.Context())
			require.ErrorContains(t, err, "one session")
			ctx, cancel := context.WithCancel(t.Context())
			p := &peer{Conn: near, t: t, in: make(chan rpc, 10)}
			go p.pump()
			go func() {
				_, _ = near.NetConn().Write([]byte(frames))
				synctest.Wait()
				cancel()
			}()
			_, err = connection.Read(ctx)
			if code == 1000 {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.Equal(t, code, err.(*CloseError).Code)
			}
			_, again := connection.Read(context.Background())
			require.Equal(t, err, again)
			require.ErrorIs(t, connection.Write(context.Background(), &jsonrpc.Request{Method: "m"}), mcp.ErrConnectionClosed)
			require.Equal(t, code, p.code())
			_ = near.Close()
			<-connection.(*conn).released
		})
	}
}

// pipe returns both ends of a WebSocket.
func pipe(t *testing.T) (server, client *websocket.Conn) {
	near, far := net.Pipe()
	upgraded := make(chan *websocket.Conn, 1)
	go func() {
		in := bufio.NewReader(near)
		r, _ := http.ReadRequest(in)
		ws, _ := (&websocket.Upgrader{}).Upgrade(&response{conn: near, in: in}, r, nil)
		upgraded <- ws
	}()
	dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return far, nil }}
	client, _, err := dialer.Dial("ws://localhost/", nil)
	require.NoError(t, err)
	return <-upgraded, client
}

// Whatever bytes follow the handshake, the connection ends with one cause and at most one
// close frame, and the next one is served.
func FuzzRead(f *testing.F) {
	for _, end := range ends {
		f.Add([]byte(strings.Join(end.frames, "")))
	}
	f.Add([]byte(frame(0x81, call("1", "echo", "{}")) + frame(0x88, "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, HandlerOptions{MaxMessageBytes: 4096})
			p := s.dial("")
			_, _ = p.NetConn().Write(data)
			synctest.Wait()
			_ = p.NetConn().Close()
			for range p.in {
			}
			<-s.served
			q := s.dial("")
			q.send(call("1", "echo", "{}"))
			require.Equal(t, "1", string(q.next().ID))
		})
	})
}
