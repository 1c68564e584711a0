package statecodec

import (
	"encoding/binary"
	"strconv"
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
	flagInstance     = 1 << 3
	knownFlags       = flagReadable | flagPerPrincipal | flagPerSession | flagInstance
)

// maxInstance is as far as one character counts.
const maxInstance = 64

// header is the part of a token that is never encrypted. Before the MAC is checked
// it may be used only to refuse the token.
type header struct {
	flags   byte
	key     KeyID
	bodyLen int
	issued  int64 // Unix milliseconds
	expires int64
	// instance stands between the header's bytes and the body, after a character that
	// counts it, and is not encoded: its characters are those of the alphabet.
	instance string
}

// tokenLen is the length of a token without an instance whose body is n bytes.
func tokenLen(n int) int { return headerTextLen + textLen(n) + tagTextLen }

// clearLen is the length of the text before the body.
func (h *header) clearLen() int {
	if h.instance == "" {
		return headerTextLen
	}
	return headerTextLen + 1 + len(h.instance)
}

// tokenLen is the length of the whole token.
func (h *header) tokenLen() int { return h.clearLen() + textLen(h.bodyLen) + tagTextLen }

func (h *header) append(dst []byte) []byte {
	var b [headerLen]byte
	b[0], b[1] = version1, h.flags
	copy(b[2:6], h.key[:])
	putUint24(b[6:9], uint32(h.bodyLen))
	putUint48(b[9:15], uint64(h.issued))
	putUint48(b[15:21], uint64(h.expires))
	dst = appendText(dst, b[:])
	if h.instance == "" {
		return dst
	}
	return append(append(dst, alphabet[len(h.instance)-1]), h.instance...)
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
	if h.flags&flagInstance != 0 {
		if h.instance = readInstance(token[headerTextLen:]); h.instance == "" {
			return header{}, errMalformed
		}
	}
	if len(token) != h.tokenLen() || h.flags&flagReadable == 0 && h.bodyLen < nonceLen {
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

// Instance returns the name of the instance that sealed a token, [Options.Instance]. It
// needs no key, so that whoever routes requests can read it; and nothing is checked, so
// that anybody can have written it. Look the name up in a table of your own, and never
// make an address of it. It is false for a token without a name, and for anything that is
// no token.
func Instance(token string) (name string, ok bool) {
	h, err := readHeader(token)
	return h.instance, err == nil && h.instance != ""
}

// CheckInstance returns a [*UsageError] for text that cannot be [Options.Instance], the
// empty one included.
func CheckInstance(name string) error {
	if isInstance(name) {
		return nil
	}
	return &UsageError{message: "the name of an instance has 1 to " + strconv.Itoa(maxInstance) +
		" letters, digits, hyphens and underscores (ASCII), and is not " + strconv.Quote(name[:min(len(name), 80)])}
}

// readInstance reads the name at the start of a text, "" where there is none.
func readInstance(text string) string {
	count := values[text[0]]
	if count == invalid || int(count)+2 > len(text) {
		return ""
	}
	if name := text[1 : count+2]; isInstance(name) {
		return name
	}
	return ""
}

func isInstance(name string) bool {
	for i := range len(name) {
		if values[name[i]] == invalid {
			return false
		}
	}
	return name != "" && len(name) <= maxInstance
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
