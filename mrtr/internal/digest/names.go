package digest

import (
	"crypto/sha256"
	"encoding/base64"
)

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
