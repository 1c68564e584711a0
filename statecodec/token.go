package statecodec

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
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

// clearLen is the length of the text before the body.
func (h *header) clearLen() int {
	if h.instance == "" {
		return headerTextLen
	}
	return headerTextLen + 1 + len(h.instance)
}

// tokenLen is the length of the whole token.
func (h *header) tokenLen() int { return h.clearLen() + textLen(h.bodyLen) + tagTextLen }

// append writes the numbers from the last to the first, each into eight or four bytes
// whose first are zero and are then written over.
func (h *header) append(dst []byte) []byte {
	var b [headerLen]byte
	binary.BigEndian.PutUint64(b[13:], uint64(h.expires))
	binary.BigEndian.PutUint64(b[7:], uint64(h.issued))
	binary.BigEndian.PutUint32(b[5:], uint32(h.bodyLen))
	copy(b[2:], h.key[:])
	b[0], b[1] = version1, h.flags
	dst = appendText(dst, b[:])
	if h.instance == "" {
		return dst
	}
	return append(append(dst, alphabet[len(h.instance)-1]), h.instance...)
}

// readHeader reads the header of a token. It refuses, without looking at the rest, a
// token that no codec of this version can have sealed.
func readHeader(token string) (header, *TokenError) {
	var b [headerLen]byte
	if len(token) < headerTextLen+tagTextLen || !readText(b[:], []byte(token[:headerTextLen])) {
		return header{}, errMalformed
	}
	if b[0] != version1 || b[1]&^knownFlags != 0 {
		return header{}, errUnknownVersion
	}
	h := header{
		flags:   b[1],
		key:     KeyID(b[2:6]),
		bodyLen: int(binary.BigEndian.Uint32(b[5:]) & (1<<24 - 1)),
		issued:  int64(binary.BigEndian.Uint64(b[7:]) & (1<<48 - 1)),
		expires: int64(binary.BigEndian.Uint64(b[13:]) & (1<<48 - 1)),
	}
	if h.flags&flagInstance != 0 {
		name := token[headerTextLen+1:]
		count := strings.IndexByte(alphabet, token[headerTextLen]) + 1
		if count == 0 || count > len(name) || !isInstance(name[:count]) {
			return header{}, errMalformed
		}
		h.instance = name[:count]
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
	return misuse("the name of an instance has 1 to %d letters, digits, hyphens and underscores (ASCII), and is not %q", maxInstance, name[:min(len(name), 80)])
}

func isInstance(name string) bool {
	return name != "" && len(name) <= maxInstance && strings.Trim(name, alphabet) == ""
}

// encoding is base64url without padding, in its one spelling.
var encoding = base64.RawURLEncoding.Strict()

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// textLen is the length of the text of n bytes.
func textLen(n int) int { return encoding.EncodedLen(n) }

func appendText(dst, src []byte) []byte { return encoding.AppendEncode(dst, src) }

// readText writes the bytes of a text to dst, which has just the room for them. It is
// false for a text that appendText does not write, or that is not as long as this: the
// decoder skips line breaks, and dst is not full then.
func readText(dst, text []byte) bool {
	if len(text) != textLen(len(dst)) {
		return false
	}
	n, err := encoding.Decode(dst, text)
	return err == nil && n == len(dst)
}
