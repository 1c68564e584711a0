package statecodec_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// The limit is the work of any codec with an HMAC: hash the payload, hash the 32
// bytes of the inner hash, encode or decode both as text, and allocate the result.
// It protects nothing: it has no key, no nonce, no binding and no time.

var weather = statecodec.Binding{
	Method:    "tools/call",
	Target:    "weather_native",
	Arguments: []byte(`{"location":"Springfield"}`),
	Principal: "user-1",
}

// realState is a state as an engine seals it between two rounds: a call's id, a
// pending question in full, an answer and an effect.
const realState = `{"id":"c_7Jm0Qx2vVb3uR9aZ","round":2,"pending":[{"key":"units","message":"Which units?",` +
	`"schema":{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}}],` +
	`"answers":[{"key":"place","digest":"q83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJ","value":"Springfield, Illinois"}],` +
	`"effects":[{"kind":"once","key":"audit","digest":"EjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83v","value":{"line":"looked up Springfield, Illinois"}}],` +
	`"fingerprint":"b1946ac92492d2347c6235b4d2611184","frame":"f_93kd02nd8f7s6d5"}`

func limitSeal(payload []byte) []byte {
	inner := sha256.Sum256(payload)
	outer := sha256.Sum256(inner[:])
	size := base64.RawURLEncoding.EncodedLen(len(payload))
	text := make([]byte, size+base64.RawURLEncoding.EncodedLen(len(outer)))
	base64.RawURLEncoding.Encode(text, payload)
	base64.RawURLEncoding.Encode(text[size:], outer[:])
	return text
}

func limitOpen(text []byte) []byte {
	body, tag := text[:len(text)-43], text[len(text)-43:]
	payload := make([]byte, base64.RawURLEncoding.DecodedLen(len(body)))
	var claimed [32]byte
	must(base64.RawURLEncoding.Decode(payload, body))
	must(base64.RawURLEncoding.Decode(claimed[:], tag))
	inner := sha256.Sum256(payload)
	if sha256.Sum256(inner[:]) != claimed {
		panic("the limit does not open what it sealed")
	}
	return payload
}

func benchCodec(b *testing.B, readable bool) *statecodec.Codec {
	c, err := statecodec.New(&statecodec.Options{Ephemeral: true, Readable: readable})
	require.NoError(b, err)
	return c
}

func BenchmarkSeal(b *testing.B) {
	for _, size := range []int{64, 600, 4096} {
		payload := []byte(strings.Repeat("x", size))
		run(b, fmt.Sprintf("%d/limit", size), func() { limitSeal(payload) })
		for _, readable := range []bool{true, false} {
			c, name := benchCodec(b, readable), "encrypted"
			if readable {
				name = "readable"
			}
			run(b, fmt.Sprintf("%d/%s", size, name), func() { must(c.Seal(weather, payload)) })
			run(b, fmt.Sprintf("%d/%s, nothing bound", size, name), func() { must(c.Seal(statecodec.Binding{}, payload)) })
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, size := range []int{64, 600, 4096} {
		payload := []byte(strings.Repeat("x", size))
		text := limitSeal(payload)
		run(b, fmt.Sprintf("%d/limit", size), func() { limitOpen(text) })
		for _, readable := range []bool{true, false} {
			c, name := benchCodec(b, readable), "encrypted"
			if readable {
				name = "readable"
			}
			token := must(c.Seal(weather, payload))
			run(b, fmt.Sprintf("%d/%s", size, name), func() { must(c.Open(weather, token)) })
			bare := must(c.Seal(statecodec.Binding{}, payload))
			run(b, fmt.Sprintf("%d/%s, nothing bound", size, name), func() { must(c.Open(statecodec.Binding{}, bare)) })
		}
	}
}

// A real state, there and back.
func BenchmarkRoundTrip(b *testing.B) {
	payload := []byte(realState)
	text := limitSeal(payload)
	run(b, "limit/one way", func() { limitSeal(payload) })
	run(b, "limit/both ways", func() { limitSeal(payload); limitOpen(text) })
	c := benchCodec(b, false)
	run(b, "encrypted", func() { must(c.Open(weather, must(c.Seal(weather, payload)))) })
	scoped, err := statecodec.New(&statecodec.Options{Ephemeral: true, PerPrincipal: true})
	require.NoError(b, err)
	run(b, "encrypted, per principal", func() { must(scoped.Open(weather, must(scoped.Seal(weather, payload)))) })
}

// The server's cost of an attacker's tokens beside that of a client's.
func BenchmarkRefuse(b *testing.B) {
	c := benchCodec(b, false)
	good := must(c.Seal(weather, []byte(realState)))
	run(b, "opened", func() { must(c.Open(weather, good)) })

	other := must(statecodec.NewEphemeral().Seal(weather, []byte(realState)))
	last := len(good) - 1
	for _, forgery := range []struct{ name, token string }{
		{"empty", ""},
		{"garbage", strings.Repeat("garbage!", len(good)/8)},
		{"too large", strings.Repeat("A", statecodec.DefaultMaxToken+1)},
		{"unknown key", other},
		{"truncated", good[:last]},
		{"extended", good + "A"},
		{"body altered", flipText(good, len(good)/2)},
		{"tag altered", flipText(good, last-10)},
	} {
		run(b, forgery.name, func() { refuse(b, c, weather, forgery.token) })
	}
	transplanted := weather
	transplanted.Target = "weather_steps"
	run(b, "transplanted", func() { refuse(b, c, transplanted, good) })
}

func BenchmarkArguments(b *testing.B) {
	c := benchCodec(b, true)
	for _, spelling := range []struct{ name, arguments string }{
		{"none", ""},
		{"canonical", `{"limit":25,"location":"Springfield","tags":["a","b"]}`},
		{"out of order", `{"tags":["a","b"],"location":"Springfield","limit":25}`},
		{"spaced and escaped", `{ "tags" : [ "a", "b" ], "location" : "Spring\u0066ield", "limit" : 25.0 }`},
		{"4 KiB", `{"text":"` + strings.Repeat("x", 4086) + `"}`},
	} {
		binding := weather
		binding.Arguments = []byte(spelling.arguments)
		run(b, spelling.name, func() { must(c.Seal(binding, nil)) })
	}
}

func run(b *testing.B, name string, f func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func refuse(b *testing.B, c *statecodec.Codec, binding statecodec.Binding, token string) {
	if _, err := c.Open(binding, token); err == nil {
		b.Fatal("a forged token opened")
	}
}

// flipText replaces one character of a token by another of the alphabet.
func flipText(token string, at int) string {
	replacement := "A"
	if token[at] == 'A' {
		replacement = "B"
	}
	return token[:at] + replacement + token[at+1:]
}
