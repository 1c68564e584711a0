package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// tokenContent are the legible parts of a token that was sealed readable, laid
// out as statecodec/SPEC.md says. Reading checks nothing, as opening would.
type tokenContent struct {
	key     []byte
	expires time.Time
	payload json.RawMessage
}

const (
	tagChars     = 22
	headerBytes  = 21
	flagReadable = 0x01
)

func readToken(token string) (*tokenContent, error) {
	if len(token) < tagChars {
		return nil, errors.New("it is too short")
	}
	raw, err := base64.RawURLEncoding.DecodeString(token[:len(token)-tagChars])
	if err != nil {
		return nil, errors.New("it is not base64url")
	}
	if len(raw) < headerBytes || raw[0] != 1 {
		return nil, errors.New("it is not a token of version 1")
	}
	if raw[1]&flagReadable == 0 {
		return nil, errors.New("it is encrypted")
	}
	var expires int64
	for _, b := range raw[15:headerBytes] {
		expires = expires<<8 | int64(b)
	}
	return &tokenContent{key: raw[2:6], expires: time.UnixMilli(expires), payload: raw[headerBytes:]}, nil
}
