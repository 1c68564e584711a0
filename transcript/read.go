package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxBytes is the size of the largest conversation that [Read] accepts.
const MaxBytes = 32 << 20

// ErrTooLarge is the error of [Read] for more than [MaxBytes].
var ErrTooLarge = fmt.Errorf("transcript: the conversation is larger than %d bytes", MaxBytes)

// An Error is the reason why the input is not a conversation, with its position.
type Error struct {
	Line, Column int    // counted from 1, the column in bytes
	Path         string // such as messages[3].content[0], empty for JSON that cannot be parsed
	Problem      string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("transcript: line %d, column %d: ", e.Line, e.Column)
	if e.Path != "" {
		at += e.Path + ": "
	}
	return at + e.Problem
}

// Read reads a conversation: a JSON array of messages, or an object with such an
// array under "messages". The style is detected: tool_use_id, text content and a
// request's max_tokens mean [Messages]; toolUseId, content that is a block without a
// list and a request's maxTokens mean [Sampling]. A conversation with none of these
// is read as [Messages]; use [ReadAs] if the style is known.
//
// Any other input is an [*Error]: invalid JSON, a role other than user and
// assistant, a tool use or result without its id, a field given twice, both styles
// at once. More than [MaxBytes] is [ErrTooLarge]. An error of r is returned wrapped.
func Read(r io.Reader) (*Transcript, error) {
	return read(r, "")
}

// ReadAs is [Read] for a known style. A conversation in the other style is an
// [*Error].
func ReadAs(r io.Reader, style Style) (*Transcript, error) {
	if style != Messages && style != Sampling {
		return nil, fmt.Errorf("transcript: unknown style %q", style)
	}
	return read(r, style)
}

func read(r io.Reader, style Style) (*Transcript, error) {
	src, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("transcript: reading: %w", err)
	}
	if len(src) > MaxBytes {
		return nil, ErrTooLarge
	}
	p := parser{src: src, style: style}
	var valid json.RawMessage
	if err := json.Unmarshal(src, &valid); err != nil {
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, fmt.Errorf("transcript: %w", err)
		}
		return nil, p.fail(max(int(syntax.Offset)-1, 0), "", "%s", syntax)
	}
	return p.transcript()
}
