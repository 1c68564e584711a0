package statecodec

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// fmt calls a Formatter for every verb, a Stringer not for %d and %#v.

// Format writes the key's id for every verb.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, k.redacted()) }

// LogValue returns the key's id.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.redacted()) }

// MarshalText returns the key's id; JSON uses it too. It cannot be read back.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.redacted()), nil }

func (k Key) redacted() string {
	if k.material == nil {
		return "statecodec.Key(none)"
	}
	return "statecodec.Key(" + k.ID().String() + ", redacted)"
}

// Format writes the ids of the codec's keys for every verb.
func (c Codec) Format(f fmt.State, _ rune) { io.WriteString(f, c.redacted()) }

// LogValue returns the ids of the codec's keys.
func (c Codec) LogValue() slog.Value { return slog.StringValue(c.redacted()) }

// MarshalText returns the ids of the codec's keys; JSON uses it too.
func (c Codec) MarshalText() ([]byte, error) { return []byte(c.redacted()), nil }

func (c Codec) redacted() string {
	ids := make([]string, len(c.ring))
	for i, key := range c.ring {
		ids[i] = key.id.String()
	}
	return "statecodec.Codec(keys " + strings.Join(ids, " ") + ", redacted)"
}
