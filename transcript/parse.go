package transcript

import (
	"bytes"
	"fmt"
)

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
		if at, ok := fields["max_tokens"]; ok {
			if err := p.shows(Messages, at.start, "", "the field max_tokens"); err != nil {
				return nil, err
			}
		}
		if at, ok := fields["maxTokens"]; ok {
			if err := p.shows(Sampling, at.start, "", "the field maxTokens"); err != nil {
				return nil, err
			}
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
		before:   p.src[:array.start],
		after:    p.src[array.end:],
		list:     array.of(p.src),
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
		if id, ok := fields["toolUseId"]; ok {
			if err := p.shows(Sampling, id.start, path, "the field toolUseId"); err != nil {
				return block{}, err
			}
			idField = "toolUseId"
		}
		if id, ok := fields["tool_use_id"]; ok {
			if err := p.shows(Messages, id.start, path, "the field tool_use_id"); err != nil {
				return block{}, err
			}
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

// fields returns the values of an object's members with these names. A name given
// twice is refused, since JSON readers differ on which value counts.
func (p *parser) fields(at span, path string, names ...string) (map[string]span, error) {
	if p.src[at.start] != '{' {
		return nil, p.fail(at.start, path, "not an object")
	}
	found := make(map[string]span, len(names))
	for _, m := range members(p.src, at) {
		for _, name := range names {
			if m.key != name {
				continue
			}
			if _, twice := found[name]; twice {
				return nil, p.fail(m.keyAt, path, "the field %q is given twice", name)
			}
			found[name] = m.value
		}
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
