package prove

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strings"
)

// A signature proves nothing if anybody can make it: with a key that is left from an example, or
// without a key at all.

var guessedKeys = []string{
	"", "secret", "Secret", "SECRET", "secret-key", "secret_key", "secretkey", "my-secret", "mysecret", "my-secret-key", "supersecret",
	"super-secret", "super-secret-key", "s3cr3t", "your-secret-key", "your-256-bit-secret", "changeme", "change-me", "change_me", "change me",
	"key", "state", "state-key", "state-secret", "state_secret", "requestState", "mcp", "mcp-secret", "server-secret", "hmac-key", "hmac-secret",
	"jwt-secret", "jwt_secret", "signing-key", "password", "dev", "dev-secret", "dev-key", "development", "default", "default-secret", "test",
	"test-secret", "test-key", "testing", "demo", "demo-secret", "example", "example-secret", "insecure", "not-a-secret", "unsafe", "local", "123456",
	strings.Repeat("\x00", 16), strings.Repeat("\x00", 32), strings.Repeat("0", 32),
}

// signer makes the signature of a text.
type signer func(text []byte) []byte

// signers are all that anybody can make, each cut to as many bytes as a signature has.
func signers(length int, more ...string) (all []signer) {
	for _, of := range []func() hash.Hash{sha256.New, sha1.New, sha512.New, md5.New} {
		if length < 4 || length > of().Size() {
			continue
		}
		sum := func(texts ...[]byte) []byte {
			h := of()
			h.Write(bytes.Join(texts, nil))
			return h.Sum(nil)[:length]
		}
		all = append(all, func(text []byte) []byte { return sum(text) })
		for _, key := range append(guessedKeys, more...) {
			all = append(all,
				func(text []byte) []byte {
					h := hmac.New(of, []byte(key))
					h.Write(text)
					return h.Sum(nil)[:length]
				},
				func(text []byte) []byte { return sum([]byte(key), text) },
				func(text []byte) []byte { return sum(text, []byte(key)) },
			)
		}
	}
	return all
}

// signature is one that stands in a state, beside what it may sign.
type signature struct {
	bytes  []byte
	signed []byte
	claim  string // the JSON that is signed, or a part of it
	// write is the state with another claim. It is given how to sign.
	write func(claim string, sign signer) string
}

// signaturesOf are the ways to read a state as something signed.
func signaturesOf(state string) (all []signature) {
	if isJSON(state) {
		return memberSignatures(state, func(text string) string { return text })
	}
	if q, ok := queryOf(state); ok {
		return querySignatures(q)
	}
	p := partsOf(state)
	if len(p.parts) == 1 {
		if text, write := decoded(state); isJSON(text) {
			all = append(memberSignatures(text, write), besideSignatures(state, text)...)
		}
		return all
	}
	last := len(p.parts) - 1
	raw, spell := rawBytes(p.parts[last])
	if raw == nil {
		return nil
	}
	words := p.parts[:last]
	all = append(all, signature{raw, []byte(strings.Join(words, p.separator)), marshal(words), func(claim string, sign signer) string {
		var changed []string
		_ = json.Unmarshal([]byte(claim), &changed) // one that is no list of texts is refused anyway
		text := strings.Join(changed, p.separator)
		return text + p.separator + spell(sign([]byte(text)))
	}})
	for i, part := range words {
		claim, rewrite := decoded(part)
		if !isJSON(claim) {
			continue
		}
		// The signature covers all that stands before it, the part alone, or what it encodes.
		for _, covered := range []func(p parts) []byte{
			func(p parts) []byte { return []byte(strings.Join(p.parts[:last], p.separator)) },
			func(p parts) []byte { return []byte(p.parts[i]) },
			func(p parts) []byte { plain, _ := decoded(p.parts[i]); return []byte(plain) },
		} {
			all = append(all, signature{raw, covered(p), claim, func(claim string, sign signer) string {
				changed := parts{slices.Clone(p.parts), p.separator}
				changed.parts[i] = rewrite(claim)
				changed.parts[last] = spell(sign(covered(changed)))
				return changed.join()
			}})
		}
	}
	return all
}

// querySignatures are the last value of a query, which signs those before it.
func querySignatures(q query) []signature {
	last := q.names[len(q.names)-1]
	raw, spell := rawBytes(q.values[last])
	if raw == nil {
		return nil
	}
	rest := query{q.names[:len(q.names)-1], maps.Clone(q.values)}
	delete(rest.values, last)
	claim := marshal(rest.values)
	return []signature{{raw, []byte(rest.with(claim)), claim, func(claim string, sign signer) string {
		text := rest.with(claim)
		return text + "&" + last + "=" + spell(sign([]byte(text)))
	}}}
}

// besideSignatures stand before or behind the JSON, in the same bytes.
func besideSignatures(state, claim string) (all []signature) {
	raw, spell := rawBytes(state)
	before, after, found := bytes.Cut(raw, []byte(claim))
	if found && len(before) > 0 {
		all = append(all, signature{before, raw[len(before):], claim, func(claim string, sign signer) string {
			signed := append([]byte(claim), after...)
			return spell(append(sign(signed), signed...))
		}})
	}
	if found && len(after) > 0 {
		all = append(all, signature{after, raw[:len(raw)-len(after)], claim, func(claim string, sign signer) string {
			signed := append(slices.Clone(before), claim...)
			return spell(append(signed, sign(signed)...))
		}})
	}
	return all
}

// memberSignatures are those that stand as a member of a JSON object, beside the member they sign.
func memberSignatures(text string, write func(string) string) (all []signature) {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value, _ := object[name].(string)
		raw, spell := rawBytes(value)
		if len(raw) < 4 {
			continue
		}
		rest := maps.Clone(object)
		delete(rest, name)
		add := func(claim string, signed func(claim string) []byte, put func(claim string) map[string]any) {
			all = append(all, signature{raw, signed(claim), claim, func(claim string, sign signer) string {
				return write(marshal(with(put(claim), name, spell(sign(signed(claim))))))
			}})
		}
		plain := func(claim string) []byte { return []byte(claim) }
		parsed := func(claim string) (v any) { _ = json.Unmarshal([]byte(claim), &v); return v }
		add(marshal(rest), plain, func(claim string) map[string]any { object, _ := parsed(claim).(map[string]any); return object })
		for _, other := range slices.Sorted(maps.Keys(rest)) {
			add(marshal(rest[other]), plain, func(claim string) map[string]any { return with(rest, other, parsed(claim)) })
			if text, isText := rest[other].(string); isText {
				claim, rewrite := decoded(text)
				add(claim, func(claim string) []byte { return []byte(rewrite(claim)) }, func(claim string) map[string]any { return with(rest, other, rewrite(claim)) })
				add(claim, plain, func(claim string) map[string]any { return with(rest, other, rewrite(claim)) })
			}
		}
	}
	return all
}

// rawBytes decodes a signature, and spells another one as it was spelled.
func rawBytes(text string) (raw []byte, spell func([]byte) string) {
	return spelled(text, func(raw []byte) bool { return len(raw) > 0 })
}

// spelled decodes a text from the first spelling in which it says something that fits, and spells
// something else like that.
func spelled(text string, fits func(raw []byte) bool) (raw []byte, spell func([]byte) string) {
	if b, err := hex.DecodeString(text); err == nil && fits(b) {
		return b, hex.EncodeToString
	}
	for _, e := range []*base64.Encoding{base64.RawURLEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.StdEncoding} {
		if b, err := e.DecodeString(text); err == nil && fits(b) {
			return b, e.EncodeToString
		}
	}
	return nil, nil
}

// resigned are other claims, signed as anybody could.
func resigned(state, tool string) (forged []mutant) {
	for _, sig := range signaturesOf(state) {
		all := signers(len(sig.bytes), tool)
		found := slices.IndexFunc(all, func(sign signer) bool { return bytes.Equal(sign(sig.signed), sig.bytes) })
		if found < 0 {
			continue
		}
		claim := reading{sig.claim, func(text string) string { return sig.write(text, all[found]) }}
		for _, m := range claim.forgeries() {
			forged = append(forged, mutant{"signed anew with a key that was guessed, " + m.what, m.state})
		}
	}
	return forged
}
