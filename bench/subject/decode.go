package main

import (
	"bytes"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/segmentio/encoding/json"
)

// firstRequest is the first request of the weather call, as it is on the wire.
var firstRequest = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{"location":"Lisbon"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`)

// envelope is the form into which go-sdk decodes a message first.
type envelope struct {
	VersionTag string          `json:"jsonrpc"`
	ID         any             `json:"id,omitempty"`
	Method     string          `json:"method,omitempty"`
	Params     json.RawMessage `json:"params,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// decoders decode that message: message as go-sdk does, and its envelope alone
// through a new decoder (as go-sdk does) and from the bytes (as the same library
// also can).
func decoders(name string) (made, error) {
	switch name {
	case "message":
		return work(func() error {
			m, err := jsonrpc.DecodeMessage(firstRequest)
			if req, ok := m.(*jsonrpc.Request); err == nil && (!ok || req.Method != "tools/call") {
				err = errors.New("decoded something else")
			}
			return err
		})
	case "decoder":
		return work(func() error {
			d := json.NewDecoder(bytes.NewReader(firstRequest))
			d.DontMatchCaseInsensitiveStructFields()
			var e envelope
			return d.Decode(&e)
		})
	case "bytes":
		return work(func() error {
			var e envelope
			_, err := json.Parse(firstRequest, &e, json.DontMatchCaseInsensitiveStructFields)
			return err
		})
	}
	return unknown(name)
}
