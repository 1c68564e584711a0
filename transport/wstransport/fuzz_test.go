package wstransport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// upgraded returns the server's side of a connection over socket, as a request
// from a loopback client would give it.
func upgraded(t testing.TB, socket net.Conn, limits Limits) *conn {
	t.Helper()
	g, err := newGate(&HandlerOptions{Limits: limits, FirstRequestTimeout: 1000 * time.Hour})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header = http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {Subprotocol},
	}
	require.Nil(t, g.check(r))
	c, err := g.upgrade(&hijackable{httptest.NewRecorder(), socket}, r)
	require.NoError(t, err)
	return c
}

type hijackable struct {
	*httptest.ResponseRecorder
	socket net.Conn
}

func (h *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.socket, bufio.NewReadWriter(bufio.NewReader(h.socket), bufio.NewWriter(h.socket)), nil
}

// A script is a peer that sends fixed bytes and keeps those it receives.
type script struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// masked is one frame as a client sends it, with a mask of zeros.
func masked(first byte, payload string) []byte {
	frame := []byte{first, 0x80 | byte(len(payload))}
	if len(payload) > 125 {
		frame[1] = 0x80 | 126
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(payload)))
	}
	frame = append(frame, 0, 0, 0, 0)
	return append(frame, payload...)
}

// FuzzRead: whatever bytes follow the handshake, each message that comes out of
// them is one that the SDK reads too, the connection ends once with one cause,
// and at most one close frame is sent.
func FuzzRead(f *testing.F) {
	call := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	seeds := [][]byte{
		nil,
		masked(0x81, call),
		append(masked(0x81, call), masked(0x88, "\x03\xe8bye")...),
		append(masked(0x01, call[:10]), masked(0x80, call[10:])...),
		append(append(masked(0x01, call[:10]), masked(0x89, "ping")...), masked(0x80, call[10:])...),
		masked(0x82, call),
		masked(0x81, "{"),
		masked(0x81, "\xff"),
		masked(0x81, string(make([]byte, 5000))),
		masked(0xc1, call),
		masked(0x88, "\x03"),
		masked(0x8a, "pong"),
		{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{0x81, 0x02, '{', '}'},
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		socket := &script{in: bytes.NewReader(data)}
		c := upgraded(t, socket, Limits{MaxMessageBytes: 4096})
		handshake := socket.out.Len()
		var cause error
		for messages := 0; cause == nil; messages++ {
			require.Less(t, messages, len(data)+1)
			var msg jsonrpc.Message
			if msg, cause = c.Read(context.Background()); cause == nil {
				encoded, err := jsonrpc.EncodeMessage(msg)
				require.NoError(t, err)
				_, err = jsonrpc.DecodeMessage(encoded)
				require.NoError(t, err)
			}
		}
		<-c.released
		_, err := c.Read(context.Background())
		require.Equal(t, cause, err)

		sent := bufio.NewReader(bytes.NewReader(socket.out.Bytes()[handshake:]))
		for closes := 0; ; {
			first, err := sent.ReadByte()
			if err == io.EOF {
				return
			}
			length, err := sent.ReadByte()
			require.NoError(t, err)
			require.Less(t, length, byte(126), "only control frames are sent")
			_, err = sent.Discard(int(length))
			require.NoError(t, err)
			require.Zero(t, closes, "nothing follows a close frame")
			switch first {
			case 0x88:
				closes++
			case 0x8a:
			default:
				require.Failf(t, "unexpected frame", "%#x", first)
			}
		}
	})
}
