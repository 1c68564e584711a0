// Package audience tells apart the handlers and the layers of one server.
package audience

import (
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/statecodec"
)

// Of is the audience of a server, or one of its own within that.
func Of(server, own string) string {
	if own == "" {
		return server
	}
	return strconv.Quote(server) + strconv.Quote(own)
}

// A Sealer seals for the audiences of one server. It implements [keep.Sealer].
type Sealer struct {
	Codec  *statecodec.Codec
	Server string
	Keeps  bool // what it seals opens for good: it is, or names, a record with a time of its own
}

// Seal implements [keep.Sealer].
func (s *Sealer) Seal(b statecodec.Binding, payload []byte) (string, error) {
	b.Audience = Of(s.Server, b.Audience)
	return s.Codec.Seal(b, payload)
}

// Open implements [keep.Sealer].
func (s *Sealer) Open(b statecodec.Binding, token string) ([]byte, error) {
	b.Audience = Of(s.Server, b.Audience)
	at := time.Now()
	if s.Keeps {
		at, _ = statecodec.Issued(token)
	}
	return s.Codec.AppendOpen([]byte{}, b, token, at)
}
