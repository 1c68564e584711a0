package prove

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Each format of tokens has its known tricks: what careless libraries, and careless uses of good
// ones, have taken for a genuine token.

var formats = []struct {
	name   string
	tricks func(state string) []mutant
}{
	{"JWS", compactTricks},
	{"JWS in JSON", jsonTricks},
	{"JWE", encryptedTricks},
	{"PASETO", pasetoTricks},
	{"Branca", brancaTricks},
	{"Fernet", fernetTricks},
	{"COSE", coseTricks},
}

// forgeries are all states that an attacker makes of one: with the tricks of its format too where
// that is wanted.
func forgeries(state, tool string, tricks bool) (all []mutant) {
	for _, r := range readings(state) {
		all = append(all, r.forgeries()...)
	}
	all = append(all, resigned(state, tool)...)
	for _, f := range formats {
		if !tricks {
			break
		}
		for _, m := range f.tricks(state) {
			all = append(all, mutant{f.name + ", " + m.what, m.state})
		}
	}
	return slices.DeleteFunc(all, func(m mutant) bool { return m.state == state })
}

var urlEncoding = base64.RawURLEncoding

// headed is a compact token with a JSON header, and how to write another header.
func headed(state string) (parts []string, header map[string]any, ok bool) {
	parts = strings.Split(state, ".")
	raw, err := urlEncoding.DecodeString(strings.TrimRight(parts[0], "="))
	return parts, header, err == nil && json.Unmarshal(raw, &header) == nil && header["alg"] != nil
}

func encoded(v any) string { return urlEncoding.EncodeToString([]byte(marshal(v))) }

// otherClaims are the claims of a token, each changed in one place.
func otherClaims(part string) (all []mutant) {
	all = []mutant{{"its own claim", part}}
	if claim, write := decoded(part); isJSON(claim) {
		all = append(all, (&reading{claim, write}).forgeries()...)
	}
	return all[:min(len(all), 2)]
}

func compactTricks(state string) (all []mutant) {
	parts, header, ok := headed(state)
	if !ok || len(parts) != 3 {
		return nil
	}
	for _, claim := range otherClaims(parts[1]) {
		for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
			text := encoded(with(header, "alg", alg)) + "." + claim.state
			all = append(all, mutant{"algorithm " + marshal(alg) + ", " + claim.what, text + "."}, mutant{"algorithm " + marshal(alg) + " and its old signature, " + claim.what, text + "." + parts[2]})
		}
		alg, _ := header["alg"].(string)
		for _, other := range neighbours(alg) {
			all = append(all, mutant{"algorithm " + other.what + ", " + claim.what, encoded(with(header, "alg", other.value)) + "." + claim.state + "." + parts[2]})
		}
		for _, kid := range []any{"nobody", "", nil, "../../../../dev/null", "' UNION SELECT ''--"} {
			for _, key := range [][]byte{nil, {0}, []byte("nobody")} {
				text := encoded(with(with(header, "kid", kid), "alg", "HS256")) + "." + claim.state
				mac := hmac.New(sha256.New, key)
				mac.Write([]byte(text))
				all = append(all, mutant{"unknown kid " + marshal(kid) + ", " + claim.what, text + "." + urlEncoding.EncodeToString(mac.Sum(nil))})
			}
		}
		all = append(all, ownKeys(header, claim)...)
		for _, more := range []map[string]any{{"b64": false, "crit": []string{"b64"}}, {"crit": []string{"exp"}}} {
			changed := header
			for name, value := range more {
				changed = with(changed, name, value)
			}
			all = append(all, mutant{"header with crit, " + claim.what, encoded(changed) + "." + claim.state + "." + parts[2]})
		}
	}
	return all
}

// ownKeys sign with a key that the token brings in its header.
func ownKeys(header map[string]any, claim mutant) (all []mutant) {
	public, private, _ := ed25519.GenerateKey(rand.Reader) // it never fails
	jwk := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": urlEncoding.EncodeToString(public)}
	text := encoded(with(with(header, "jwk", jwk), "alg", "EdDSA")) + "." + claim.state
	all = append(all, mutant{"its own Ed25519 key as jwk, " + claim.what, text + "." + urlEncoding.EncodeToString(ed25519.Sign(private, []byte(text)))})

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return all
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return all
	}
	jwk = map[string]any{"kty": "EC", "crv": "P-256", "x": urlEncoding.EncodeToString(point[1:33]), "y": urlEncoding.EncodeToString(point[33:])}
	text = encoded(with(with(header, "jwk", jwk), "alg", "ES256")) + "." + claim.state
	sum := sha256.Sum256([]byte(text))
	if r, s, err := ecdsa.Sign(rand.Reader, key, sum[:]); err == nil {
		signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		all = append(all, mutant{"its own P-256 key as jwk, " + claim.what, text + "." + urlEncoding.EncodeToString(signature)})
	}
	secret := []byte("its own key")
	jwk = map[string]any{"kty": "oct", "k": urlEncoding.EncodeToString(secret)}
	text = encoded(with(with(header, "jwk", jwk), "alg", "HS256")) + "." + claim.state
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	zeros := urlEncoding.EncodeToString(make([]byte, 64)) // r and s of nothing, which some libraries took
	blank := encoded(with(header, "alg", "ES256")) + "." + claim.state
	return append(all, mutant{"its own secret as jwk, " + claim.what, text + "." + urlEncoding.EncodeToString(mac.Sum(nil))},
		mutant{"a signature of zeros, " + claim.what, blank + "." + zeros})
}

// jsonTricks are those of the two serializations in JSON, plain or in base64.
func jsonTricks(state string) (all []mutant) {
	text, write := decoded(state)
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil || object["payload"] == nil {
		return nil
	}
	payload, _ := object["payload"].(string)
	add := func(what string, changed map[string]any) { all = append(all, mutant{what, write(marshal(changed))}) }
	for _, claim := range otherClaims(payload) {
		changed := with(object, "payload", claim.state)
		if list, ok := object["signatures"].([]any); ok {
			add("no signatures, "+claim.what, with(changed, "signatures", []any{}))
			add("signatures left out, "+claim.what, withoutMember(changed, "signatures"))
			if len(list) > 0 {
				first, _ := list[0].(map[string]any)
				none := map[string]any{"protected": encoded(map[string]any{"alg": "none"}), "signature": ""}
				add("one more signature of none, "+claim.what, with(changed, "signatures", append([]any{none}, list...)))
				add("one signature, empty, "+claim.what, with(changed, "signatures", []any{with(first, "signature", "")}))
			}
		}
		if object["signature"] != nil {
			add("an empty signature, "+claim.what, with(changed, "signature", ""))
			add("no signature, "+claim.what, withoutMember(changed, "signature"))
			add("algorithm none, "+claim.what, with(with(changed, "protected", encoded(map[string]any{"alg": "none"})), "signature", ""))
			add("an unprotected header of none, "+claim.what, with(with(withoutMember(changed, "protected"), "header", map[string]any{"alg": "none"}), "signature", ""))
		}
	}
	return all
}

// withoutMember is an object without one member.
func withoutMember(object map[string]any, name string) map[string]any {
	changed := with(object, name, nil)
	delete(changed, name)
	return changed
}

// encryptedTricks are those of a JWE: a signed token, or an open one, in the place of it.
func encryptedTricks(state string) (all []mutant) {
	parts, header, ok := headed(state)
	if !ok || len(parts) != 5 {
		return nil
	}
	claim := urlEncoding.EncodeToString([]byte(`{"sub":"forged"}`))
	all = append(all, mutant{"an unsigned JWS instead", encoded(map[string]any{"alg": "none", "typ": "JWT"}) + "." + claim + "."})
	for i, name := range []string{"header", "key", "IV", "ciphertext", "tag"} {
		changed := slices.Clone(parts)
		changed[i] = ""
		all = append(all, mutant{"without its " + name, strings.Join(changed, ".")})
	}
	for _, length := range []int{1, 4, 8} {
		if tag, err := urlEncoding.DecodeString(parts[4]); err == nil && len(tag) > length {
			changed := slices.Clone(parts)
			changed[4] = urlEncoding.EncodeToString(tag[:length])
			all = append(all, mutant{"with a short tag", strings.Join(changed, ".")})
		}
	}
	for _, alg := range []string{"dir", "none", "A128KW"} {
		changed := slices.Clone(parts)
		changed[0] = encoded(with(header, "alg", alg))
		all = append(all, mutant{"algorithm " + alg, strings.Join(changed, ".")})
	}
	return all
}

var paseto = regexp.MustCompile(`^(v[1-4])\.(local|public)\.([A-Za-z0-9_-]+)(\.[A-Za-z0-9_-]+)?$`)

func pasetoTricks(state string) (all []mutant) {
	m := paseto.FindStringSubmatch(state)
	if m == nil {
		return nil
	}
	body, err := urlEncoding.DecodeString(m[3])
	if err != nil {
		return nil
	}
	footer := m[4]
	for _, purpose := range []string{"local", "public"} {
		for _, version := range []string{"v1", "v2", "v3", "v4"} {
			all = append(all, mutant{"as " + version + "." + purpose, version + "." + purpose + "." + m[3] + footer})
		}
	}
	all = append(all, mutant{"without its footer", m[1] + "." + m[2] + "." + m[3]}, mutant{"with another footer", m[1] + "." + m[2] + "." + m[3] + "." + urlEncoding.EncodeToString([]byte(`{"kid":"nobody"}`))})
	if m[2] == "public" && len(body) > 64 {
		claim, signature := body[:len(body)-64], body[len(body)-64:]
		for _, f := range otherClaims(urlEncoding.EncodeToString(claim)) {
			changed, _ := urlEncoding.DecodeString(f.state)
			for what, tail := range map[string][]byte{"its old signature": signature, "a signature of zeros": make([]byte, 64), "no signature": nil} {
				all = append(all, mutant{f.what + " and " + what, m[1] + ".public." + urlEncoding.EncodeToString(append(slices.Clone(changed), tail...)) + footer})
			}
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(a.what, b.what) })
	return all
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// brancaTricks change the time stamp, which stands before the sealed part in plain.
func brancaTricks(state string) (all []mutant) {
	n := new(big.Int)
	for _, c := range state {
		at := strings.IndexRune(base62, c)
		if at < 0 {
			return nil
		}
		n.Add(n.Mul(n, big.NewInt(62)), big.NewInt(int64(at)))
	}
	raw := n.Bytes()
	if len(raw) < 45 || raw[0] != 0xba {
		return nil
	}
	spell := func(raw []byte) string {
		n, digit, text := new(big.Int).SetBytes(raw), new(big.Int), []byte(nil)
		for n.Sign() > 0 {
			n.DivMod(n, big.NewInt(62), digit)
			text = append(text, base62[digit.Int64()])
		}
		slices.Reverse(text)
		return string(text)
	}
	for _, stamp := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}} {
		changed := slices.Clone(raw)
		copy(changed[1:5], stamp)
		all = append(all, mutant{"with another time", spell(changed)})
	}
	later := slices.Clone(raw)
	later[3] += 64 // some hours
	return append(all, mutant{"with a later time", spell(later)}, mutant{"without its tag", spell(raw[:len(raw)-16])})
}

// fernetTricks change the time stamp, which the HMAC covers, and take the HMAC away.
func fernetTricks(state string) (all []mutant) {
	raw, spell := rawBytes(state)
	if len(raw) < 73 || raw[0] != 0x80 || (len(raw)-57)%16 != 0 {
		return nil
	}
	later := slices.Clone(raw)
	later[6] += 64
	first := slices.Clone(raw)
	first[9] ^= 1 // of the IV: a bit of the first block
	return []mutant{{"with a later time", spell(later)}, {"with another IV", spell(first)}, {"without its HMAC", spell(raw[:len(raw)-32])},
		{"with an HMAC of zeros", spell(append(slices.Clone(raw[:len(raw)-32]), make([]byte, 32)...))}}
}

// coseTricks take the tag away from a CBOR structure of four: what is protected, what is not, the
// payload, and the tag.
func coseTricks(state string) (all []mutant) {
	raw, spell := rawBytes(state)
	at := bytes.IndexByte(raw, 0x84)
	if at < 0 || at > 3 {
		return nil
	}
	parts, ok := cborItems(raw[at+1:], 4)
	if !ok {
		return nil
	}
	join := func(parts ...[]byte) string { return spell(slices.Concat(raw[:at+1], slices.Concat(parts...))) }
	empty, none := []byte{0x40}, []byte{0x43, 0xa1, 0x01, 0x00} // an empty text of bytes; {1: 0}, which names no algorithm
	changed := slices.Clone(parts[2])
	changed[len(changed)-1] ^= 1
	var others []mutant
	if from := bytes.IndexByte(parts[2], '{'); from >= 0 {
		for _, f := range (&reading{string(parts[2][from:]), func(text string) string { return text }}).forgeries() {
			others = append(others, mutant{f.what + " and its old tag", join(parts[0], parts[1], cborBytes([]byte(f.state)), parts[3])})
		}
	}
	return append(others, []mutant{
		{"with an empty tag", join(parts[0], parts[1], parts[2], empty)},
		{"with an empty tag and another payload", join(parts[0], parts[1], changed, empty)},
		{"with no algorithm", join(none, parts[1], parts[2], empty)},
		{"with no algorithm and another payload", join(none, parts[1], changed, empty)},
		{"with nothing protected", join(empty, parts[1], parts[2], parts[3])},
		{"with its old tag and another payload", join(parts[0], parts[1], changed, parts[3])},
		{"with one byte of its tag", join(parts[0], parts[1], parts[2], append([]byte{0x41}, parts[3][len(parts[3])-1]))},
	}...)
}

func cborBytes(text []byte) []byte {
	return append([]byte{0x59, byte(len(text) >> 8), byte(len(text))}, text...)
}

// cborItems splits bytes into so many items that are texts of bytes or small maps.
func cborItems(raw []byte, n int) (items [][]byte, ok bool) {
	for range n {
		if len(raw) == 0 {
			return nil, false
		}
		size := 1
		switch b := raw[0]; {
		case b >= 0x40 && b < 0x58:
			size = 1 + int(b-0x40)
		case b == 0x58 && len(raw) > 1:
			size = 2 + int(raw[1])
		case b == 0x59 && len(raw) > 2:
			size = 3 + int(raw[1])<<8 + int(raw[2])
		case b == 0xa0 || b == 0xf6:
		case b == 0xa1 && len(raw) > 2 && raw[2] >= 0x40 && raw[2] < 0x58: // {small: bytes}
			size = 3 + int(raw[2]-0x40)
		default:
			return nil, false
		}
		if size > len(raw) {
			return nil, false
		}
		items, raw = append(items, raw[:size]), raw[size:]
	}
	return items, true
}
