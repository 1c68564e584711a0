package main

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/segmentio/encoding/json"
)

// message is the first request of the call as sent.
var message = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{"location":"Lisbon"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`)

// envelope holds the fields that go-sdk decodes a message into first.
type envelope struct {
	VersionTag string          `json:"jsonrpc"`
	ID         any             `json:"id,omitempty"`
	Method     string          `json:"method,omitempty"`
	Params     json.RawMessage `json:"params,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// BenchmarkDecode decodes one message: with go-sdk; with go-sdk's JSON library
// through a new decoder, as go-sdk uses it; with that library from the bytes; and
// with the standard library.
func BenchmarkDecode(b *testing.B) {
	into := func(decode func(e *envelope) error) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var e envelope
				if err := decode(&e); err != nil || e.Method != "tools/call" {
					b.Fatal(e, err)
				}
			}
		}
	}
	b.Run("go-sdk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := jsonrpc.DecodeMessage(message)
			if req, ok := m.(*jsonrpc.Request); err != nil || !ok || req.Method != "tools/call" {
				b.Fatal(m, err)
			}
		}
	})
	b.Run("decoder", into(func(e *envelope) error {
		d := json.NewDecoder(bytes.NewReader(message))
		d.DontMatchCaseInsensitiveStructFields()
		return d.Decode(e)
	}))
	b.Run("bytes", into(func(e *envelope) error {
		_, err := json.Parse(message, e, json.DontMatchCaseInsensitiveStructFields)
		return err
	}))
	b.Run("stdlib", into(func(e *envelope) error { return stdjson.Unmarshal(message, e) }))
}
