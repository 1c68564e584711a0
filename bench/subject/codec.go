package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/securecookie"

	"github.com/mrtr-go/sdk/bench/internal/payload"
	"github.com/mrtr-go/sdk/statecodec"
)

// binding is the request that the state belongs to.
var binding = statecodec.Binding{
	Method: "tools/call", Target: "weather", Principal: "user-1", Arguments: []byte(`{"location":"Springfield"}`),
}

// codecs seal the state and open it again, or do one of the two, or refuse a
// forgery.
func codecs(name string) (made, error) {
	c, err := statecodec.New(&statecodec.Options{Ephemeral: true})
	if err != nil {
		return made{}, err
	}
	state := []byte(payload.State)
	token, err := c.Seal(binding, state)
	if err != nil {
		return made{}, err
	}
	switch name {
	case "ours":
		return roundTrips(state, func() ([]byte, error) {
			sealed, err := c.Seal(binding, state)
			if err != nil {
				return nil, err
			}
			return c.Open(binding, sealed)
		})
	case "securecookie":
		return roundTrips(state, cookie(state))
	case "golang-jwt":
		return roundTrips(state, signedToken(state))
	case "limit":
		return roundTrips(state, func() ([]byte, error) { return limitOpen(limitSeal(state)) })
	case "limit-open":
		text := limitSeal(state)
		return roundTrips(state, func() ([]byte, error) { return limitOpen(text) })
	case "open":
		return roundTrips(state, func() ([]byte, error) { return c.Open(binding, token) })
	case "refuse-body-altered":
		return refusals(c, flipped(token, len(token)/2))
	case "refuse-garbage":
		return refusals(c, strings.Repeat("garbage!", len(token)/8))
	}
	return unknown(name)
}

func roundTrips(want []byte, thereAndBack func() ([]byte, error)) (made, error) {
	return work(func() error {
		got, err := thereAndBack()
		if err == nil && !bytes.Equal(got, want) {
			err = errors.New("another state came back")
		}
		return err
	})
}

func refusals(c *statecodec.Codec, token string) (made, error) {
	return work(func() error {
		if _, err := c.Open(binding, token); err == nil {
			return errors.New("a forged token opened")
		}
		return nil
	})
}

// flipped is a token with one character changed to another of the alphabet.
func flipped(token string, at int) string {
	replacement := "A"
	if token[at] == 'A' {
		replacement = "B"
	}
	return token[:at] + replacement + token[at+1:]
}

// The limit is what no codec with an HMAC can go below: it hashes the payload,
// hashes the 32 bytes of the inner hash, and makes text of both. It has no key,
// no nonce, no binding and no time.
func limitSeal(payload []byte) []byte {
	inner := sha256.Sum256(payload)
	outer := sha256.Sum256(inner[:])
	size := base64.RawURLEncoding.EncodedLen(len(payload))
	text := make([]byte, size+base64.RawURLEncoding.EncodedLen(len(outer)))
	base64.RawURLEncoding.Encode(text, payload)
	base64.RawURLEncoding.Encode(text[size:], outer[:])
	return text
}

func limitOpen(text []byte) ([]byte, error) {
	tagLen := base64.RawURLEncoding.EncodedLen(sha256.Size)
	body, tag := text[:len(text)-tagLen], text[len(text)-tagLen:]
	payload := make([]byte, base64.RawURLEncoding.DecodedLen(len(body)))
	var claimed [sha256.Size]byte
	if _, err := base64.RawURLEncoding.Decode(payload, body); err != nil {
		return nil, err
	}
	if _, err := base64.RawURLEncoding.Decode(claimed[:], tag); err != nil {
		return nil, err
	}
	inner := sha256.Sum256(payload)
	if sha256.Sum256(inner[:]) != claimed {
		return nil, errors.New("the limit does not open what it sealed")
	}
	return payload, nil
}

// cookie encrypts and signs, and binds the target as the cookie's name. The bytes
// go in as they are.
func cookie(state []byte) func() ([]byte, error) {
	c := securecookie.New(securecookie.GenerateRandomKey(32), securecookie.GenerateRandomKey(32))
	c.SetSerializer(securecookie.NopEncoder{})
	c.MaxAge(int(time.Hour / time.Second))
	return func() (opened []byte, _ error) {
		value, err := c.Encode(binding.Target, bytes.Clone(state)) // Encode encrypts its argument in place
		if err != nil {
			return nil, err
		}
		return opened, c.Decode(binding.Target, value, &opened)
	}
}

type claims struct {
	State json.RawMessage `json:"state"`
	jwt.RegisteredClaims
}

// signedToken is signed and legible, and binds principal and target by its
// claims.
func signedToken(state []byte) func() ([]byte, error) {
	key := securecookie.GenerateRandomKey(32)
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(),
		jwt.WithSubject(binding.Principal), jwt.WithAudience(binding.Target))
	keyOf := func(*jwt.Token) (any, error) { return key, nil }
	return func() ([]byte, error) {
		now := time.Now()
		sealed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{state, jwt.RegisteredClaims{
			Subject: binding.Principal, Audience: jwt.ClaimStrings{binding.Target},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(time.Hour)),
		}}).SignedString(key)
		if err != nil {
			return nil, fmt.Errorf("signing: %w", err)
		}
		var opened claims
		if _, err := parser.ParseWithClaims(sealed, &opened, keyOf); err != nil {
			return nil, err
		}
		return opened.State, nil
	}
}
