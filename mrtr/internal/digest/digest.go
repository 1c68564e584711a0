// Package digest tells texts of one call apart in few bytes.
package digest

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"sync"
)

// Len is the length of a short digest.
const Len = 12

// Short is enough of a digest to tell two texts of one call apart.
func Short(b []byte) string {
	text := ShortBytes(b)
	return string(text[:])
}

// ShortBytes is Short for those who write it into another text.
func ShortBytes(b []byte) (text [Len]byte) {
	sum := sha256.Sum256(b)
	base64.RawURLEncoding.Encode(text[:], sum[:9])
	return text
}

// A Buffer is for a text that must not stay in memory, such as a state outside of its token. It is
// wiped when it is released.
type Buffer struct{ B []byte }

// maxKept bounds a buffer that is kept for the next text.
const maxKept = 16 << 10

var buffers = sync.Pool{New: func() any { return &Buffer{make([]byte, 0, 1<<10)} }}

// NewBuffer is an empty buffer. Release it.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release wipes the buffer.
func (b *Buffer) Release() {
	clear(b.B)
	if cap(b.B) <= maxKept {
		b.B = b.B[:0]
		buffers.Put(b)
	}
}

// AppendOwner begins the name of a record that nobody but its sender gets at.
func AppendOwner(name []byte, audience, principal string) []byte {
	var sender [128]byte
	owner := ShortBytes(append(append(append(sender[:0], audience...), 0), principal...))
	return append(append(name, owner[:]...), '.')
}

// visitLen is the length of each half of a visit's id.
const visitLen = 22

// VisitID names the visit that a question of a call asks for. The visits of a call have the first half
// in common.
func VisitID(call, key string) string {
	return visitPart("call", call, "") + visitPart("elicitation", call, key)
}

func visitPart(of, call, key string) string {
	sum := sha256.Sum256([]byte(of + "\x00" + call + "\x00" + key))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// VisitsOf is the name of the record of a call's visits, by the id of any. It is false for what is no id.
func VisitsOf(audience, principal, id string) (name string, ok bool) {
	if len(id) != 2*visitLen {
		return "", false
	}
	return string(append(append(AppendOwner(nil, audience, principal), id[:visitLen]...), ".visits"...)), true
}

// IDLen is the length of an identifier, and IntentLen that of the name of an intent, with which the id
// of its call begins.
const (
	IDLen     = 32
	IntentLen = 22
)

// NewID makes an identifier that cannot be guessed.
func NewID() string {
	var b [IDLen / 2]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	var text [IDLen]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// IntentOf is the name that a call shares with every call that means the same, "" if it has none.
func IntentOf(call string) string {
	if len(call) <= IDLen {
		return ""
	}
	return call[:IntentLen]
}

// TurnName names the record of a turn.
func TurnName(audience, principal, call string, turn int) string {
	var text [128]byte
	name := append(append(AppendOwner(text[:0], audience, principal), call...), '.')
	return string(strconv.AppendInt(name, int64(turn), 10))
}

// FirstName names the record of the first turn of the calls with an intent.
func FirstName(audience, principal, intent string) string {
	return string(append(append(AppendOwner(nil, audience, principal), intent...), ".first"...))
}

// TaskName names the record of a call's task: by the intent, which the client's key stands for. A call
// that becomes a task late began without one, and has a name of its own for it.
func TaskName(audience, principal, call string, late bool) string {
	owner := AppendOwner(nil, audience, principal)
	if late {
		return string(append(append(owner, call...), ".late"...))
	}
	return string(append(owner, cmp.Or(IntentOf(call), call)...))
}
