package main

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/segmentio/encoding/json"
)

// message is the first request of the call, as it is on the wire.
var message = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{"location":"Lisbon"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`)

// envelope is what go-sdk decodes a message into first.
type envelope struct {
	VersionTag string          `json:"jsonrpc"`
	ID         any             `json:"id,omitempty"`
	Method     string          `json:"method,omitempty"`
	Params     json.RawMessage `json:"params,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// BenchmarkDecode is one message decoded: by go-sdk; into the same fields by
// the same JSON library through a decoder made for it, as go-sdk does it; from
// the bytes, as that library also can; and by the standard library.
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
