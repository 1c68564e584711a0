package statecodec_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

var update = flag.Bool("update", false, "write the vectors in testdata anew")

// counting is a random source for vectors alone: it makes them repeatable.
type counting struct{ next byte }

func (r *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.next
		r.next++
	}
	return len(p), nil
}

var vectorTime = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// recipe is how a vector is made: sealed with opts, then changed.
type recipe struct {
	name, comment string
	opts          statecodec.Options
	purpose       string
	payload       string
	sealed        func(b *statecodec.Binding) // the binding it was sealed for, where not the one presented
	change        func(v *vector)
	expect        statecodec.Reason // "" opens
}

// TestVectorsAreCurrent seals every vector anew and compares it with its file:
// sealing is as fixed as opening. With -update it writes the files.
func TestVectorsAreCurrent(t *testing.T) {
	made := map[string]bool{}
	for _, r := range append(openingRecipes(), refusedRecipes()...) {
		name := "opened-" + r.name
		if r.expect != "" {
			name = "refused-" + r.name
		}
		file := filepath.Join("testdata", name+".txt")
		require.False(t, made[file], "two vectors are called %s", name)
		made[file] = true
		want := makeVector(t, r)
		if *update {
			require.NoError(t, os.WriteFile(file, want, 0o644))
			continue
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: go test -run TestVectorsAreCurrent -update writes it", name)
	}
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, made[file], "%s is nobody's vector", file)
	}
}

func makeVector(t *testing.T, r recipe) (text []byte) {
	useRandom(t, &counting{next: 0x80})
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(vectorTime))
		v := vector{
			comment: r.comment, expect: "opened", purpose: r.purpose, time: vectorTime,
			keys: [][]byte{vectorSecret(1)}, skew: 30 * time.Second, maxToken: statecodec.DefaultMaxToken,
			binding: fullBinding, payload: []byte(r.payload),
		}
		binding := v.binding
		if r.sealed != nil {
			r.sealed(&binding)
		}
		r.opts.Keys = []statecodec.Key{must(statecodec.NewKey(vectorSecret(1)))}
		v.token = must(newCodec(t, r.opts).For(r.purpose).Seal(binding, v.payload))
		if r.change != nil {
			r.change(&v)
		}
		if r.expect != "" {
			v.expect, v.payload = string(r.expect), nil
		}
		text = v.text()
	})
	return text
}

func vectorSecret(n byte) []byte {
	return bytes.Repeat([]byte{n, 0x5a, n ^ 0xff, 0xa5}, 8)
}

var (
	readable = statecodec.Options{Readable: true}
	instance = statecodec.Options{Instance: "eu-2"}
)

func openingRecipes() []recipe {
	sealedWith := func(arguments string) func(*statecodec.Binding) {
		return func(b *statecodec.Binding) { b.Arguments = []byte(arguments) }
	}
	presented := func(arguments string) func(*vector) {
		return func(v *vector) { v.binding.Arguments = []byte(arguments) }
	}
	later := func(d time.Duration) func(*vector) {
		return func(v *vector) { v.time = v.time.Add(d) }
	}
	return []recipe{
		{name: "encrypted", comment: "the plain case", payload: "hello"},
		{name: "readable", comment: "the payload in the clear", opts: readable, payload: "hello"},
		{name: "encrypted-empty", comment: "no payload"},
		{name: "readable-empty", comment: "no payload and no body", opts: readable},
		{name: "readable-1-mod-3", comment: "four unused bits in the body's last character", opts: readable, payload: "h"},
		{name: "readable-2-mod-3", comment: "two unused bits in the body's last character", opts: readable, payload: "he"},
		{name: "encrypted-several-blocks", comment: "the counter runs on", payload: strings.Repeat("0123456789abcdef", 20) + "!"},
		{name: "purpose", comment: "sub-keys of a purpose", purpose: "store", payload: "hello"},
		{name: "per-principal", comment: "sub-keys of the principal", opts: statecodec.Options{PerPrincipal: true}, payload: "hello"},
		{name: "per-session", comment: "sub-keys of the session", opts: statecodec.Options{PerSession: true}, payload: "hello"},
		{name: "per-principal-and-session", comment: "sub-keys of both, and a purpose", purpose: "frame",
			opts: statecodec.Options{PerPrincipal: true, PerSession: true, Readable: true}, payload: "hello"},
		{name: "instance", comment: "the name of an instance", opts: statecodec.Options{Instance: "eu-2"}, payload: "hello"},
		{name: "instance-longest", comment: "a name of 64 characters, before a readable body", payload: "hello",
			opts: statecodec.Options{Instance: strings.Repeat("a-Z_0189", 8), Readable: true}},
		{name: "instance-per-session", comment: "the name does not change the sub-keys", payload: "hello",
			opts: statecodec.Options{Instance: "b", PerSession: true}},
		{name: "rotated", comment: "the key that sealed is not the first any more", payload: "hello",
			change: func(v *vector) { v.keys = [][]byte{vectorSecret(2), vectorSecret(1)} }},
		{name: "bare-binding", comment: "every field of the binding empty", payload: "hello",
			sealed: func(b *statecodec.Binding) { *b = statecodec.Binding{} },
			change: func(v *vector) { v.binding = statecodec.Binding{} }},
		{name: "long-field", comment: "a field whose length takes two bytes", payload: "hello",
			sealed: func(b *statecodec.Binding) { b.Target = strings.Repeat("file:///é/", 30) },
			change: func(v *vector) { v.binding.Target = strings.Repeat("file:///é/", 30) }},
		{name: "last-millisecond", comment: "TTL and skew are over in a millisecond", payload: "hello",
			change: later(time.Hour + 30*time.Second - time.Millisecond)},
		{name: "first-millisecond", comment: "sealed exactly the skew from now", payload: "hello", change: later(-30 * time.Second)},
		{name: "arguments-absent", comment: "sealed for {}, presented without arguments", payload: "hello",
			sealed: sealedWith(`{}`), change: presented("")},
		{name: "arguments-order", comment: "members in another order, at two levels, and white space", payload: "hello",
			sealed: sealedWith(`{"a":[1,2],"b":{"c":true,"d":null}}`), change: presented(`{ "b" : {"d":null, "c":true}, "a":[ 1,	2 ] }`)},
		{name: "arguments-prefix-names", comment: "a name before the name it begins, whatever follows", payload: "hello",
			sealed: sealedWith(`{"a":1,"a!":2,"ab":3}`), change: presented(`{"ab":3,"a!":2,"a":1}`)},
		{name: "arguments-numbers", comment: "numbers spelled in other ways", payload: "hello",
			sealed: sealedWith(`[1,100,0.5,-2.5e-3,0,12345678901234567890123]`),
			change: presented(`[1.0,1E+2,5e-01,-0.002500,-0.0e7,12345678901234567890123.00]`)},
		{name: "arguments-escapes", comment: "strings escaped in other ways", payload: "hello",
			sealed: sealedWith(`{"é😀":"a/b\"\\\u001f\n"}`),
			change: presented(`{"\u00e9\uD83d\uDE00":"\u0061\/b\u0022\u005c\u001F\u000a"}`)},
	}
}

func refusedRecipes() []recipe {
	token := func(f func(token string) string) func(*vector) {
		return func(v *vector) { v.token = f(v.token) }
	}
	header := func(change func(h []byte)) func(*vector) {
		return token(func(token string) string {
			h := must(base64.RawURLEncoding.DecodeString(token[:28]))
			change(h)
			return base64.RawURLEncoding.EncodeToString(h) + token[28:]
		})
	}
	// authentic changes the token before its MAC and then makes the MAC right, as
	// only a holder of the key can.
	authentic := func(change func(text string) string) func(*vector) {
		return func(v *vector) {
			text := change(v.token[:len(v.token)-22])
			keys := specDerive(v.keys[0], v.purpose, 0, "", "")
			message := must(specMessage(v.binding, text))
			v.token = text + base64.RawURLEncoding.EncodeToString(specHMAC(keys.mac, message)[:16])
		}
	}
	binding := func(change func(b *statecodec.Binding)) func(*vector) {
		return func(v *vector) { change(&v.binding) }
	}
	later := func(d time.Duration) func(*vector) {
		return func(v *vector) { v.time = v.time.Add(d) }
	}
	recipes := []recipe{
		{name: "empty", comment: "nothing at all", change: token(func(string) string { return "" }), expect: statecodec.ReasonMalformed},
		{name: "word", comment: "what somebody might try first", change: token(func(string) string { return "e30=" }), expect: statecodec.ReasonMalformed},
		{name: "standard-alphabet", comment: "a header in the other base64 alphabet",
			change: token(func(s string) string { return s[:8] + "+/" + s[10:] }), expect: statecodec.ReasonMalformed},
		{name: "header-line-feed", comment: "a line feed in the header, which lenient decoders skip",
			change: token(func(s string) string { return s[:9] + "\n" + s[9:] }), expect: statecodec.ReasonMalformed},
		{name: "header-line-feeds", comment: "line feeds for four characters of the header",
			change: token(func(s string) string { return s[:8] + "\n\n\n\n" + s[12:] }), expect: statecodec.ReasonMalformed},
		{name: "too-large", comment: "good, and one character over the cap",
			change: func(v *vector) { v.maxToken = len(v.token) - 1 }, expect: statecodec.ReasonTooLarge,
			payload: "long enough for a cap that may be set"},
		{name: "version-0", comment: "no such version", change: header(func(h []byte) { h[0] = 0 }), expect: statecodec.ReasonUnknownVersion},
		{name: "version-2", comment: "no such version yet", change: header(func(h []byte) { h[0] = 2 }), expect: statecodec.ReasonUnknownVersion},
		{name: "instance-altered", comment: "the name of another instance", opts: instance, payload: "hello",
			change: token(func(s string) string { return s[:28] + strings.Replace(s[28:], "eu-2", "eu-1", 1) }), expect: statecodec.ReasonForged},
		{name: "instance-border", comment: "the last character of the name counted to the body", opts: instance, payload: "hello",
			change: token(func(s string) string { return s[:28] + "C" + s[29:] }), expect: statecodec.ReasonWrongLength},
		{name: "instance-cut", comment: "the name taken out, and the flag left", opts: instance, payload: "hello",
			change: token(func(s string) string { return s[:28] + s[33:] }), expect: statecodec.ReasonWrongLength},
		{name: "instance-removed", comment: "the name taken out, and the flag too", opts: instance, payload: "hello",
			change: func(v *vector) {
				header(func(h []byte) { h[1] &^= 8 })(v)
				v.token = v.token[:28] + v.token[33:]
			}, expect: statecodec.ReasonForged},
		{name: "instance-added", comment: "the name put into a token without one", payload: "hello",
			change: func(v *vector) {
				header(func(h []byte) { h[1] |= 8 })(v)
				v.token = v.token[:28] + "Deu-2" + v.token[28:]
			}, expect: statecodec.ReasonForged},
		{name: "instance-too-long", comment: "a name that is counted longer than the token", opts: statecodec.Options{Instance: "a", Readable: true},
			change: token(func(s string) string { return s[:28] + "_" + s[29:] }), expect: statecodec.ReasonMalformed},
		{name: "instance-count", comment: "the name counted by no character of the alphabet", opts: instance,
			change: token(func(s string) string { return s[:28] + "+" + s[29:] }), expect: statecodec.ReasonMalformed},
		{name: "instance-character", comment: "authentic, and a dot in the name", opts: instance, payload: "hello",
			change: authentic(func(s string) string { return strings.Replace(s, "eu-2", "eu.2", 1) }), expect: statecodec.ReasonMalformed},
		{name: "flag", comment: "no such flag", change: header(func(h []byte) { h[1] |= 0x80 }), expect: statecodec.ReasonUnknownVersion},
		{name: "truncated", comment: "the last character cut off", change: token(func(s string) string { return s[:len(s)-1] }), expect: statecodec.ReasonWrongLength},
		{name: "half", comment: "cut in the middle", change: token(func(s string) string { return s[:len(s)-20] }), payload: "hello", expect: statecodec.ReasonWrongLength},
		{name: "extended", comment: "text appended", change: token(func(s string) string { return s + "-tampered" }), expect: statecodec.ReasonWrongLength},
		{name: "padded", comment: "padding appended", change: token(func(s string) string { return s + "=" }), expect: statecodec.ReasonWrongLength},
		{name: "trailing-line-feed", comment: "a line feed appended", change: token(func(s string) string { return s + "\n" }), expect: statecodec.ReasonWrongLength},
		{name: "shorter-than-nonce", comment: "encrypted, with a body of 15 bytes", expect: statecodec.ReasonWrongLength,
			change: authentic(func(s string) string {
				h := must(base64.RawURLEncoding.DecodeString(s[:28]))
				h[8] = 15
				return base64.RawURLEncoding.EncodeToString(h) + s[28:48]
			})},
		{name: "unknown-key", comment: "another key id", change: header(func(h []byte) { h[5] ^= 0x10 }), expect: statecodec.ReasonUnknownKey},
		{name: "retired-key", comment: "rotated, and the key that sealed is gone",
			change: func(v *vector) { v.keys = [][]byte{vectorSecret(2), vectorSecret(3)} }, expect: statecodec.ReasonUnknownKey},
		{name: "flag-readable", comment: "an encrypted token that says it is readable", change: header(func(h []byte) { h[1] ^= 1 }), expect: statecodec.ReasonForged},
		{name: "flag-per-principal", comment: "says that it has the principal's sub-keys", change: header(func(h []byte) { h[1] ^= 2 }), expect: statecodec.ReasonForged},
		{name: "flag-per-session", comment: "says that it has the session's sub-keys", change: header(func(h []byte) { h[1] ^= 4 }), expect: statecodec.ReasonForged},
		{name: "longer-life", comment: "an expiry moved by a millisecond", change: header(func(h []byte) { h[20] ^= 1 }), expect: statecodec.ReasonForged},
		{name: "issued-earlier", comment: "another time of sealing", change: header(func(h []byte) { h[14] ^= 1 }), expect: statecodec.ReasonForged},
		{name: "nonce-altered", comment: "one character of the nonce", change: token(func(s string) string { return flipText(s, 30) }), expect: statecodec.ReasonForged},
		{name: "body-altered", comment: "one character of the ciphertext", payload: "hello", change: token(func(s string) string { return flipText(s, 52) }), expect: statecodec.ReasonForged},
		{name: "readable-altered", comment: "one character of a readable payload", opts: readable, payload: "hello", change: token(func(s string) string { return flipText(s, 30) }), expect: statecodec.ReasonForged},
		{name: "tag-altered", comment: "one character of the MAC", change: token(func(s string) string { return flipText(s, len(s)-22) }), expect: statecodec.ReasonForged},
		{name: "tag-unused-bits", comment: "the unused bits of the MAC's last character",
			change: token(func(s string) string {
				last := strings.IndexByte(alphabet, s[len(s)-1])
				return s[:len(s)-1] + alphabet[last^1:][:1]
			}), expect: statecodec.ReasonForged},
		{name: "body-unused-bits", comment: "the unused bits of the body's last character", opts: readable, payload: "h",
			change: token(func(s string) string {
				last := strings.IndexByte(alphabet, s[29])
				return s[:29] + alphabet[last^1:][:1] + s[30:]
			}), expect: statecodec.ReasonForged},
		{name: "purpose", comment: "sealed for another purpose", purpose: "store", change: func(v *vector) { v.purpose = "frame" }, expect: statecodec.ReasonForged},
		{name: "per-principal-other", comment: "the sub-keys of another principal", opts: statecodec.Options{PerPrincipal: true},
			change: binding(func(b *statecodec.Binding) { b.Principal = "user-2" }), expect: statecodec.ReasonForged},
		{name: "arguments-number", comment: "numbers that a float64 cannot tell apart", expect: statecodec.ReasonForged,
			sealed: func(b *statecodec.Binding) { b.Arguments = []byte(`{"id":9007199254740993}`) },
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`{"id":9007199254740992}`) })},
		{name: "arguments-null", comment: "null is not {}", expect: statecodec.ReasonForged,
			sealed: func(b *statecodec.Binding) { b.Arguments = []byte(`{}`) },
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`null`) })},
		{name: "fields-moved", comment: "the same bytes with the border between two fields moved", expect: statecodec.ReasonForged,
			change: binding(func(b *statecodec.Binding) { b.Method, b.Target = "tools/callw", "eather_native" })},
		{name: "arguments-duplicate", comment: "a name twice, spelled in two ways", expect: statecodec.ReasonArguments,
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`{"a":1,"\u0061":1}`) })},
		{name: "arguments-case", comment: "two names that differ in case only, the sign for Kelvin among them", expect: statecodec.ReasonArguments,
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`{"Key":1,"\u212aey":1}`) })},
		{name: "arguments-not-json", comment: "a second value after the first", expect: statecodec.ReasonArguments,
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`{}{}`) })},
		{name: "arguments-half-surrogate", comment: "half a surrogate pair", expect: statecodec.ReasonArguments,
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`"\ud800"`) })},
		{name: "arguments-exponent", comment: "an exponent of ten digits", expect: statecodec.ReasonArguments,
			change: binding(func(b *statecodec.Binding) { b.Arguments = []byte(`1e1000000000`) })},
		{name: "arguments-deep", comment: "nested one deeper than 128", expect: statecodec.ReasonArguments,
			change: binding(func(b *statecodec.Binding) {
				b.Arguments = []byte(strings.Repeat("[", 129) + strings.Repeat("]", 129))
			})},
		{name: "expired", comment: "TTL and skew have passed", change: later(time.Hour + 30*time.Second), expect: statecodec.ReasonExpired},
		{name: "from-the-future", comment: "sealed a millisecond more than the skew from now", change: later(-30*time.Second - time.Millisecond), expect: statecodec.ReasonFuture},
		{name: "no-life", comment: "authentic, and it expires when it was sealed", expect: statecodec.ReasonNotCanonical,
			change: authentic(func(s string) string {
				h := must(base64.RawURLEncoding.DecodeString(s[:28]))
				copy(h[15:], h[9:15])
				return base64.RawURLEncoding.EncodeToString(h) + s[28:]
			})},
		{name: "authentic-unused-bits", comment: "authentic, and a last character with unused bits set", expect: statecodec.ReasonNotCanonical,
			payload: "hello", change: authentic(func(s string) string {
				last := strings.IndexByte(alphabet, s[len(s)-1])
				return s[:len(s)-1] + alphabet[last|1:][:1]
			}), opts: readable},
		{name: "authentic-line-feed", comment: "authentic, and a line feed for the last character", expect: statecodec.ReasonNotCanonical,
			payload: "hello!", change: authentic(func(s string) string { return s[:len(s)-1] + "\n" }), opts: readable},
		{name: "authentic-not-base64", comment: "authentic, and not base64", expect: statecodec.ReasonNotCanonical,
			payload: "hello", change: authentic(func(s string) string { return s[:30] + "!" + s[31:] })},
	}
	for field, change := range map[string]func(b *statecodec.Binding){
		"method": func(b *statecodec.Binding) { b.Method = "prompts/get" }, "target": func(b *statecodec.Binding) { b.Target = "weather_steps" },
		"arguments": func(b *statecodec.Binding) { b.Arguments = []byte(`{"location":"Lisbon"}`) },
		"principal": func(b *statecodec.Binding) { b.Principal = "user-2" }, "audience": func(b *statecodec.Binding) { b.Audience = "https://other.example" },
		"session": func(b *statecodec.Binding) { b.Session = "s-2" },
	} {
		recipes = append(recipes, recipe{
			name: "other-" + field, comment: fmt.Sprintf("another %s in the binding", field),
			payload: "hello", change: binding(change), expect: statecodec.ReasonForged,
		})
	}
	return recipes
}
