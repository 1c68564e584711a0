package statecodec

import (
	"encoding/binary"
	"time"
)

// The header has 21 bytes, a multiple of three, so that it takes exactly 28
// characters and can be decoded without the rest.
const (
	headerLen     = 21
	headerTextLen = 28
	nonceLen      = 16
	tagLen        = 16 // of the MAC, the first of its 32
	tagTextLen    = 22
)

const version1 = 1

const (
	flagReadable     = 1 << 0
	flagPerPrincipal = 1 << 1
	flagPerSession   = 1 << 2
	knownFlags       = flagReadable | flagPerPrincipal | flagPerSession
)

// header is the part of a token that is never encrypted. Before the MAC is checked
// it may be used only to refuse the token.
type header struct {
	flags   byte
	key     KeyID
	bodyLen int
	issued  int64 // Unix milliseconds
	expires int64
}

// tokenLen is the length of a token whose body is n bytes.
func tokenLen(n int) int { return headerTextLen + textLen(n) + tagTextLen }

func (h *header) append(dst []byte) []byte {
	var b [headerLen]byte
	b[0], b[1] = version1, h.flags
	copy(b[2:6], h.key[:])
	putUint24(b[6:9], uint32(h.bodyLen))
	putUint48(b[9:15], uint64(h.issued))
	putUint48(b[15:21], uint64(h.expires))
	return appendText(dst, b[:])
}

// readHeader reads the header of a token. It refuses, without looking at the rest, a
// token that no codec of this version can have sealed.
func readHeader(token string) (header, *TokenError) {
	if len(token) < tokenLen(0) {
		return header{}, errMalformed
	}
	var b [headerLen]byte
	if !readText(b[:], token[:headerTextLen]) {
		return header{}, errMalformed
	}
	if b[0] != version1 || b[1]&^knownFlags != 0 {
		return header{}, errUnknownVersion
	}
	h := header{
		flags:   b[1],
		key:     KeyID(b[2:6]),
		bodyLen: int(uint24(b[6:9])),
		issued:  int64(uint48(b[9:15])),
		expires: int64(uint48(b[15:21])),
	}
	if len(token) != tokenLen(h.bodyLen) || h.flags&flagReadable == 0 && h.bodyLen < nonceLen {
		return header{}, errWrongLength
	}
	return h, nil
}

// Issued returns when a token was sealed, as its header says, which is not secret. The
// header is not checked: it can be believed of a token that Open has opened.
func Issued(token string) (time.Time, bool) {
	h, err := readHeader(token)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(h.issued), true
}

func putUint24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func putUint48(b []byte, v uint64) {
	binary.BigEndian.PutUint16(b, uint16(v>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(v))
}

func uint48(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}
