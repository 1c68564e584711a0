package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/mrtr-go/sdk/statecodec"
)

// binding is the request that the state belongs to.
var binding = statecodec.Binding{
	Method: "tools/call", Target: "weather", Principal: "user-1", Arguments: []byte(`{"location":"Springfield"}`),
}

// payload is the state that is sealed, as an engine seals one between two rounds: a
// call's id, an answer, an effect, and a question that is pending.
const payload = `{"v":3,"call":"0ddfd699dc322f1bd3bdc2561348b361","round":2,"asked":2,"done":[` +
	`{"key":"place","digest":"c9n1HnZC040J","value":{"place":"Springfield, Illinois"}},` +
	`{"key":"audit","kind":"effect","value":true}],"pending":[{"key":"units","text":"Which units?",` +
	`"form":{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}}]}`

// codecs seal the state and open it again, or do one of the two, or refuse a
// forgery.
func codecs(name string) (made, error) {
	c, err := statecodec.New(&statecodec.Options{Ephemeral: true})
	if err != nil {
		return made{}, err
	}
	state := []byte(payload)
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
	case "limit":
		return roundTrips(state, func() ([]byte, error) { return limitOpen(limitSeal(state)) })
	case "limit-open":
		text := limitSeal(state)
		return roundTrips(state, func() ([]byte, error) { return limitOpen(text) })
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
