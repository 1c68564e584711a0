package corpus

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"time"
)

// claims are what a state says.
type claims struct {
	Call, Tool, Event, User string
	Step, Tries, Seats      int
	Note                    string
	Until                   int64
}

var (
	errState = errors.New("bad state")
	url64    = base64.RawURLEncoding
)

// key is the secret of a deployment; there are two where keys rotate.
func (in *instance) key(age int) []byte {
	secret := in.secret
	if in.design.has("rotating") {
		secret += string(rune('a' + (int(in.now()/30)+age)%26))
	}
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func (in *instance) mac(age int, text []byte) []byte {
	if in.op("tag", "tag") == "half" {
		text = text[:len(text)/2]
	}
	key := in.key(age)
	if in.op("key", "key") != "" {
		key = []byte("secret")
	}
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

// genuine compares a tag.
func (in *instance) genuine(text, tag []byte) bool {
	for age := range 2 {
		want := in.mac(-age, text)
		switch in.op("tag", "tag") {
		case "drop":
			return true
		case "short":
			if n := min(len(tag), len(want)); bytes.Equal(tag[:n], want[:n]) {
				return true
			}
		}
		if hmac.Equal(tag, want) {
			return true
		}
	}
	return false
}

func (in *instance) encrypt(plain, about []byte) []byte {
	nonce := make([]byte, 12)
	_, _ = rand.Read(nonce)
	return in.gcmOf(0).Seal(nonce, nonce, plain, about)
}

func (in *instance) gcmOf(age int) cipher.AEAD {
	key := sha256.Sum256(append([]byte("aead"), in.key(age)...))
	block, _ := aes.NewCipher(key[:])
	gcm, _ := cipher.NewGCM(block)
	return gcm
}

func (in *instance) decrypt(raw, about []byte) (plain []byte, err error) {
	if len(raw) < 28 {
		return nil, errState
	}
	for age := range 2 {
		if plain, err = in.gcmOf(-age).Open(nil, raw[:12], raw[12:], about); err == nil {
			return plain, nil
		}
	}
	if in.op("tag", "tag") == "drop" { // the same cipher, without a look at its tag
		key := sha256.Sum256(append([]byte("aead"), in.key(0)...))
		block, _ := aes.NewCipher(key[:])
		plain = make([]byte, len(raw)-28)
		cipher.NewCTR(block, append(raw[:12:12], 0, 0, 0, 2)).XORKeyStream(plain, raw[12:len(raw)-16])
		return plain, nil
	}
	return nil, errState
}

// seal makes a state of the design's format.
func (in *instance) seal(c claims) string {
	c.Until = in.now() + 600
	text, _ := json.Marshal(c) // texts and numbers
	switch in.design.codec {
	case "handle":
		handle := rand.Text()
		in.shared.mu.Lock()
		in.shared.handles[handle] = c
		in.shared.mu.Unlock()
		return handle
	case "jwt":
		head := url64.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT","kid":"k1"}`)) + "." + url64.EncodeToString(text)
		return head + "." + url64.EncodeToString(in.mac(0, []byte(head)))
	case "hex":
		return hex.EncodeToString(text) + ":" + hex.EncodeToString(in.mac(0, text))
	case "jws-json":
		payload := url64.EncodeToString(text)
		object, _ := json.Marshal(map[string]any{"payload": payload, "signatures": []any{map[string]any{
			"protected": "eyJhbGciOiJIUzI1NiJ9", "signature": url64.EncodeToString(in.mac(0, []byte("eyJhbGciOiJIUzI1NiJ9."+payload)))}}})
		return url64.EncodeToString(object)
	case "jwe":
		head := url64.EncodeToString([]byte(`{"alg":"dir","enc":"A256GCM"}`))
		raw := in.encrypt(text, []byte(head))
		return strings.Join([]string{head, "", url64.EncodeToString(raw[:12]), url64.EncodeToString(raw[12 : len(raw)-16]), url64.EncodeToString(raw[len(raw)-16:])}, ".")
	case "paseto":
		return "v3.local." + url64.EncodeToString(in.encrypt(text, []byte("v3.local.")))
	case "branca":
		stamp := []byte{0xba, 0, 0, 0, 0}
		now := in.now()
		for i := range 4 {
			stamp[4-i] = byte(now >> (8 * i))
		}
		return spell62(append(stamp, in.encrypt(text, stamp)...))
	case "cose":
		tag := in.mac(0, text)
		raw := append([]byte{0x84, 0x43, 0xa1, 0x01, 0x05, 0xa0, 0x59, byte(len(text) >> 8), byte(len(text))}, text...)
		return url64.EncodeToString(append(append(raw, 0x58, 0x20), tag...))
	}
	return url64.EncodeToString(in.encrypt(text, nil))
}

const digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func spell62(raw []byte) (text string) {
	n, digit := new(big.Int).SetBytes(raw), new(big.Int)
	for n.Sign() > 0 {
		n.DivMod(n, big.NewInt(62), digit)
		text = string(digits62[digit.Int64()]) + text
	}
	return text
}

func read62(text string) []byte {
	if len(text) > 2000 {
		return nil
	}
	n := new(big.Int)
	for _, c := range text {
		at := strings.IndexRune(digits62, c)
		if at < 0 {
			return nil
		}
		n.Add(n.Mul(n, big.NewInt(62)), big.NewInt(int64(at)))
	}
	return n.Bytes()
}

func (in *instance) open(state string) (c claims, err error) {
	if in.design.codec == "handle" {
		in.shared.mu.Lock()
		defer in.shared.mu.Unlock()
		known, ok := in.shared.handles[state]
		if !ok || known.Call == "" {
			return c, errState
		}
		return known, nil
	}
	text, err := in.unseal(state)
	if err != nil {
		return c, errState
	}
	if json.Unmarshal(text, &c) != nil || c.Step < 0 || c.Step > 2 {
		return c, errState
	}
	return c, nil
}

// unseal is the text of a state, if it is genuine.
func (in *instance) unseal(state string) ([]byte, error) {
	parts := strings.Split(state, ".")
	var text, signed, tag []byte
	switch in.design.codec {
	case "jwt":
		if len(parts) != 3 {
			return nil, errState
		}
		var head struct{ Alg string }
		if json.Unmarshal(bytesOf(parts[0]), &head) != nil {
			return nil, errState
		}
		text, signed, tag = bytesOf(parts[1]), []byte(parts[0]+"."+parts[1]), bytesOf(parts[2])
		if !in.equal("algorithm", head.Alg, "HS256") {
			return nil, errState
		}
		if head.Alg != "HS256" {
			return text, nil
		}
	case "hex":
		claim, mac, ok := strings.Cut(state, ":")
		var err, tagErr error
		text, err = hex.DecodeString(claim)
		tag, tagErr = hex.DecodeString(mac)
		if signed = text; !ok || err != nil || tagErr != nil || strings.ToLower(state) != state {
			return nil, errState
		}
	case "jws-json":
		return in.unsealJSON(bytesOf(state))
	case "jwe":
		if len(parts) != 5 || parts[1] != "" {
			return nil, errState
		}
		return in.decrypt(bytes.Join([][]byte{bytesOf(parts[2]), bytesOf(parts[3]), bytesOf(parts[4])}, nil), []byte(parts[0]))
	case "paseto":
		body, ok := strings.CutPrefix(state, "v3.local.")
		if !ok {
			return nil, errState
		}
		return in.decrypt(bytesOf(body), []byte("v3.local."))
	case "branca":
		raw := read62(state)
		if len(raw) < 45 {
			return nil, errState
		}
		return in.decrypt(raw[5:], raw[:5])
	case "cose":
		raw := bytesOf(state)
		if len(raw) < 43 || !bytes.Equal(raw[:7], []byte{0x84, 0x43, 0xa1, 0x01, 0x05, 0xa0, 0x59}) {
			return nil, errState
		}
		n := int(raw[7])<<8 + int(raw[8])
		if len(raw) < 9+n+2 {
			return nil, errState
		}
		text, tag = raw[9:9+n], raw[9+n+2:]
		signed = text
	default:
		return in.decrypt(bytesOf(state), nil)
	}
	if text == nil || !in.genuine(signed, tag) {
		return nil, errState
	}
	return text, nil
}

// bytesOf decodes a part, which has one spelling.
func bytesOf(part string) []byte {
	raw, err := url64.Strict().DecodeString(part)
	if err != nil || strings.ContainsAny(part, "\r\n") {
		return nil
	}
	return raw
}

func (in *instance) unsealJSON(raw []byte) ([]byte, error) {
	var object struct {
		Payload    string
		Signatures []struct{ Protected, Signature string }
	}
	if json.Unmarshal(raw, &object) != nil {
		return nil, errState
	}
	text := bytesOf(object.Payload)
	if !in.check("one-signature", len(object.Signatures) == 1) {
		return nil, errState
	}
	for _, s := range object.Signatures {
		if !in.genuine([]byte(s.Protected+"."+object.Payload), bytesOf(s.Signature)) || s.Protected != "eyJhbGciOiJIUzI1NiJ9" {
			return nil, errState
		}
	}
	return text, nil
}

// now is the clock of the deployment.
func (in *instance) now() int64 {
	in.shared.mu.Lock()
	defer in.shared.mu.Unlock()
	return time.Now().Unix() + in.shared.ahead
}
