package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/securecookie"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// The request that the state belongs to.
const (
	method    = "tools/call"
	target    = "weather_once"
	principal = "user-1"
)

// BenchmarkCodec seals and opens a real state: with statecodec, and with each of
// its alternatives set up to protect as much as it can.
func BenchmarkCodec(b *testing.B) {
	state := realState(b)
	b.Run("ours", func(b *testing.B) { measureCodec(b, state, ours(b)) })
	b.Run("securecookie", func(b *testing.B) { measureCodec(b, state, cookie()) })
	b.Run("golang-jwt", func(b *testing.B) { measureCodec(b, state, token()) })
	b.Run("typescript", func(b *testing.B) {
		codec := startTypeScript(b)
		b.ResetTimer()
		codec.roundTrips(b, b.N)
	})
}

// codec seals a state and opens it again.
type codec func(state []byte) []byte

func measureCodec(b *testing.B, state []byte, there codec) {
	b.ReportAllocs()
	for b.Loop() {
		if !bytes.Equal(state, there(state)) {
			b.Fatal("another state came back")
		}
	}
}

// ours encrypts, and binds the whole request.
func ours(b *testing.B) codec {
	c, err := statecodec.New(&statecodec.Options{Ephemeral: true})
	require.NoError(b, err)
	request := statecodec.Binding{
		Method: method, Target: target, Principal: principal, Arguments: []byte(`{"location":"Springfield"}`),
	}
	return func(state []byte) []byte {
		return must(c.Open(request, must(c.Seal(request, state))))
	}
}

// cookie encrypts, and binds the target as the cookie's name. It gets the bytes
// without further encoding.
func cookie() codec {
	c := securecookie.New(securecookie.GenerateRandomKey(32), securecookie.GenerateRandomKey(32))
	c.SetSerializer(securecookie.NopEncoder{})
	c.MaxAge(int(time.Hour / time.Second))
	return func(state []byte) []byte {
		value := must(c.Encode(target, bytes.Clone(state))) // Encode encrypts its argument in place
		var opened []byte
		if err := c.Decode(target, value, &opened); err != nil {
			panic(err)
		}
		return opened
	}
}

type claims struct {
	State json.RawMessage `json:"state"`
	jwt.RegisteredClaims
}

// token is signed and legible, and binds principal and target by its claims.
func token() codec {
	key := securecookie.GenerateRandomKey(32)
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(),
		jwt.WithSubject(principal), jwt.WithAudience(target))
	keyOf := func(*jwt.Token) (any, error) { return key, nil }
	return func(state []byte) []byte {
		now := time.Now()
		sealed := must(jwt.NewWithClaims(jwt.SigningMethodHS256, claims{state, jwt.RegisteredClaims{
			Subject: principal, Audience: jwt.ClaimStrings{target},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(time.Hour)),
		}}).SignedString(key))
		var opened claims
		must(parser.ParseWithClaims(sealed, &opened, keyOf))
		return opened.State
	}
}

// must stands in for testify inside a measurement, where testify would cost more
// than the measured code.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
