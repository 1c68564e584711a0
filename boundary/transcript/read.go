package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mrtr-go/sdk/internal/jsontext"
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

// parser turns valid JSON into a Transcript. All positions are in src.
type parser struct {
	src     []byte
	style   Style
	because string // the evidence for the style, for the error that contradicts it
}

func (p *parser) fail(at int, path, format string, args ...any) error {
	before := p.src[:min(at, len(p.src))]
	return &Error{
		Line:    bytes.Count(before, []byte("\n")) + 1,
		Column:  len(before) - bytes.LastIndexByte(before, '\n'),
		Path:    path,
		Problem: fmt.Sprintf(format, args...),
	}
}

func (p *parser) transcript() (*Transcript, error) {
	array := trimmed(p.src)
	top := array.start
	if p.src[top] == '{' {
		fields, err := p.fields(array, "", "messages", "max_tokens", "maxTokens")
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(p.hint(fields, "max_tokens", Messages, ""), p.hint(fields, "maxTokens", Sampling, "")); err != nil {
			return nil, err
		}
		messages, ok := fields["messages"]
		if !ok {
			return nil, p.fail(top, "", `the object has no "messages"`)
		}
		array = messages
	}
	if p.src[array.start] != '[' {
		return nil, p.fail(array.start, "", "a conversation is an array of messages, or an object with such an array under \"messages\"")
	}
	places := elements(p.src, array)
	t := &Transcript{
		src:      p.src,
		list:     array,
		layout:   layoutOf(p.src, array, places),
		messages: make([]message, len(places)),
	}
	for i, at := range places {
		m, err := p.message(at, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		t.messages[i] = m
	}
	t.style = p.style
	if t.style == "" {
		t.style = Messages
	}
	return t, nil
}

func (p *parser) message(at span, path string) (message, error) {
	fields, err := p.fields(at, path, "role", "content")
	if err != nil {
		return message{}, err
	}
	role, err := p.text(fields, "role", at, path)
	if err != nil {
		return message{}, err
	}
	if role != user && role != assistant {
		return message{}, p.fail(fields["role"].start, path, "the role %q is neither %q nor %q", role, user, assistant)
	}
	content, ok := fields["content"]
	if !ok {
		return message{}, p.fail(at.start, path, `no "content"`)
	}
	m := message{raw: at.of(p.src), role: role, content: content.within(at.start)}
	path += ".content"
	var places []span
	switch p.src[content.start] {
	case '"':
		m.form = text
		return m, p.shows(Messages, content.start, path, "content that is a string")
	case '{':
		m.form = single
		if err := p.shows(Sampling, content.start, path, "content that is one block without a list"); err != nil {
			return message{}, err
		}
		places = []span{content}
	case '[':
		m.form = list
		places = elements(p.src, content)
		m.layout = layoutOf(p.src, content, places)
	default:
		return message{}, p.fail(content.start, path, "content is a string, a block or a list of blocks")
	}
	m.blocks = make([]block, len(places))
	for i, at := range places {
		if m.blocks[i], err = p.block(at, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return message{}, err
		}
	}
	return m, nil
}

func (p *parser) block(at span, path string) (block, error) {
	fields, err := p.fields(at, path, "type", "id", "name", "tool_use_id", "toolUseId")
	if err != nil {
		return block{}, err
	}
	kind, err := p.text(fields, "type", at, path)
	if err != nil {
		return block{}, err
	}
	b := block{raw: at.of(p.src)}
	idField := "id"
	switch kind {
	case "tool_use":
		b.kind = use
		if _, ok := fields["name"]; ok {
			if b.tool, err = p.text(fields, "name", at, path); err != nil {
				return block{}, err
			}
		}
	case "tool_result":
		b.kind = result
		idField = "tool_use_id"
		if _, ok := fields["toolUseId"]; ok {
			idField = "toolUseId"
		}
		if err := cmp.Or(p.hint(fields, "toolUseId", Sampling, path), p.hint(fields, "tool_use_id", Messages, path)); err != nil {
			return block{}, err
		}
	default:
		return b, nil
	}
	if b.id, err = p.text(fields, idField, at, path); err != nil {
		return block{}, err
	}
	if b.id == "" {
		return block{}, p.fail(fields[idField].start, path, "%q is empty", idField)
	}
	b.idAt = fields[idField].within(at.start)
	return b, nil
}

// shows notes evidence for a style at a position, and fails if it contradicts earlier
// evidence.
func (p *parser) shows(style Style, at int, path, what string) error {
	switch p.style {
	case style:
	case "":
		p.style, p.because = style, " by "+what
		if path != "" {
			p.because += " at " + path
		}
	default:
		return p.fail(at, path, "%s is %s style, but the conversation is %s style%s", what, style, p.style, p.because)
	}
	return nil
}

// hint is shows for a field that only one style has.
func (p *parser) hint(fields map[string]span, name string, style Style, path string) error {
	at, ok := fields[name]
	if !ok {
		return nil
	}
	return p.shows(style, at.start, path, "the field "+name)
}

// fields returns the values of an object's members with these names. A name given
// twice is refused, since JSON readers differ on which value counts.
func (p *parser) fields(at span, path string, names ...string) (map[string]span, error) {
	if p.src[at.start] != '{' {
		return nil, p.fail(at.start, path, "not an object")
	}
	found := make(map[string]span, len(names))
	last := at.start // the end of the value before, or the brace
	w := jsontext.Walk(at.of(p.src), jsontext.MaxDepth)
	for name := range w.Members {
		value := span{at.start + w.Offset(), 0}
		value.end = value.start + len(w.Value())
		if slices.Contains(names, string(name)) {
			if _, twice := found[string(name)]; twice {
				return nil, p.fail(last+bytes.IndexByte(p.src[last:], '"'), path, "the field %q is given twice", name)
			}
			found[string(name)] = value
		}
		last = value.end
	}
	return found, nil
}

// text returns the string that a field must hold.
func (p *parser) text(fields map[string]span, name string, in span, path string) (string, error) {
	at, ok := fields[name]
	if !ok {
		return "", p.fail(in.start, path, "no %q", name)
	}
	if p.src[at.start] != '"' {
		return "", p.fail(at.start, path, "%q is not a string", name)
	}
	return unquote(at.of(p.src)), nil
}

// The functions here locate values in JSON that is known to be valid: a repaired
// conversation is written from the very bytes it was read from.

// span is the half-open range of a value in the bytes that hold it.
type span struct{ start, end int }

func (s span) of(src []byte) []byte { return src[s.start:s.end] }

// within returns the same range counted from another start.
func (s span) within(start int) span { return span{s.start - start, s.end - start} }

// trimmed is the range of src without the white space around it.
func trimmed(src []byte) span {
	const space = " \t\r\n"
	return span{len(src) - len(bytes.TrimLeft(src, space)), len(bytes.TrimRight(src, space))}
}

// elements returns the ranges of an array's elements.
func elements(src []byte, array span) []span {
	var out []span
	w := jsontext.Walk(array.of(src), jsontext.MaxDepth)
	for range w.Elements {
		start := array.start + w.Offset()
		out = append(out, span{start, start + len(w.Value())})
	}
	return out
}

// layoutOf returns the layout of an array, assuming that the white space before its
// first element is before the others too.
func layoutOf(src []byte, array span, elements []span) layout {
	if len(elements) == 0 {
		return compact
	}
	open := src[array.start:elements[0].start]
	return layout{
		open:      open,
		separator: slices.Concat([]byte(","), open[1:]),
		close:     src[elements[len(elements)-1].end:array.end],
	}
}

// unquote decodes a valid JSON string.
func unquote(quoted []byte) string {
	var s string
	_ = json.Unmarshal(quoted, &s)
	return s
}

// quote encodes a string.
func quote(s string) []byte {
	quoted, _ := json.Marshal(s)
	return quoted
}
