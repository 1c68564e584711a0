package lean

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// encodeResult writes a result as go-sdk encodes it. Usual results of tools and lists of them
// are written directly, byte for byte the same. The methods of go-sdk's own types give the
// others as they are sent, which the encoder would only check.
func encodeResult(event *bytes.Buffer, result mcp.Result, info *serverInfo, lists *lists) error {
	if value := reflect.ValueOf(result); value.Kind() == reflect.Pointer && value.IsNil() {
		event.WriteString("null")
		return nil
	}
	switch own := result.(type) {
	case *mcp.CallToolResult:
		if text, ok := appendCall(event.AvailableBuffer(), own, info); ok {
			event.Write(text)
			return nil
		}
	case *mcp.ListToolsResult:
		return lists.encode(event, own)
	}
	switch own := result.(type) {
	case *mcp.CallToolResult, *mcp.GetPromptResult, *mcp.ReadResourceResult:
		text, err := own.(json.Marshaler).MarshalJSON()
		event.Write(text)
		return err
	}
	return encode(event, result)
}

// usualResult is more than most results need.
const usualResult = 1 << 10

// encode writes a value as go-sdk's session encodes it.
func encode(event *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(event)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	event.Truncate(len(bytes.TrimRight(event.Bytes(), "\n")))
	return err
}

// appendCall appends the usual result of a tool: text, an output that is encoded, questions
// with forms, and no metadata but perhaps the server's name. It reports false for any other.
func appendCall(b []byte, r *mcp.CallToolResult, info *serverInfo) (_ []byte, ok bool) {
	switch b = append(b, '{'); {
	case len(r.Meta) == 0:
	case len(r.Meta) == 1 && info != nil && r.Meta[mcp.MetaKeyServerInfo] == any(info.Implementation):
		b = append(append(append(b, `"_meta":{"`+mcp.MetaKeyServerInfo+`":`...), info.text...), "},"...)
	default:
		return b, false
	}
	b = append(b, `"content":`...)
	if b, ok = appendContent(b, r.Content); !ok {
		return b, false
	}
	if r.StructuredContent != nil {
		raw, _ := r.StructuredContent.(json.RawMessage)
		if !isEncoded(raw) {
			return b, false
		}
		b = append(append(b, `,"structuredContent":`...), raw...)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	if r.RequestState != "" {
		b = appendText(append(b, `,"requestState":`...), r.RequestState)
	}
	if kind := reflect.ValueOf(r).Elem().FieldByIndex(callResultType).String(); kind != "" {
		b = appendText(append(b, `,"resultType":`...), kind)
	}
	if r.InputRequests != nil {
		if b, ok = appendQuestions(append(b, `,"inputRequests":`...), r.InputRequests); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// callResultType is the field that go-sdk's server sets, which it does not export.
var callResultType = func() []int {
	field, _ := reflect.TypeFor[mcp.CallToolResult]().FieldByName("resultType")
	return field.Index
}()

func appendContent(b []byte, content []mcp.Content) ([]byte, bool) {
	if content == nil {
		return append(b, "null"...), true
	}
	b = append(b, '[')
	for i, c := range content {
		text, _ := c.(*mcp.TextContent)
		if text == nil || text.Meta != nil || text.Annotations != nil {
			return b, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(append(b, `{"type":"text","text":`...), text.Text), '}')
	}
	return append(b, ']'), true
}

func appendQuestions(b []byte, questions mcp.InputRequestMap) ([]byte, bool) {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(questions)) {
		form, _ := questions[key].(*mcp.ElicitParams)
		if form == nil || form.Meta != nil || form.Mode != "form" || form.URL != "" || form.ElicitationID != "" {
			return b, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, key), `:{"method":"elicitation/create","params":{"mode":"form","message":`...)
		b = appendText(b, form.Message)
		if form.RequestedSchema != nil {
			raw, _ := form.RequestedSchema.(json.RawMessage)
			if !isEncoded(raw) {
				return b, false
			}
			b = append(append(b, `,"requestedSchema":`...), raw...)
		}
		b = append(b, "}}"...)
	}
	return append(b, '}'), true
}

// appendText appends a string as json.Marshal writes it.
func appendText(b []byte, s string) []byte {
	if !jsontext.IsPlain(s) || strings.IndexByte(s, '<') >= 0 || strings.IndexByte(s, '>') >= 0 || strings.IndexByte(s, '&') >= 0 {
		text, _ := json.Marshal(s) // strings always encode
		return append(b, text...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// isEncoded reports whether text is JSON that json.Marshal would leave as it is: without white
// space, with the escapes that it makes.
func isEncoded(text json.RawMessage) bool {
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			inText = !inText
		case '\\':
			i++
		case '<', '>', '&', 0xe2: // the last one begins U+2028
			return false
		case ' ':
			if !inText {
				return false
			}
		case '\t', '\r', '\n':
			return false
		}
	}
	w := jsontext.Walk(text, maxDepth)
	w.Value()
	return w.End() && len(text) > 0
}

// lists keeps the texts of the lists of tools that were encoded last. A list is known by its
// tools: go-sdk's server hands out the same ones until one is added or removed, and nobody
// changes a tool that was added.
type lists struct {
	mu   sync.Mutex
	kept [mostLists]list
	next int // to be replaced
}

// mostLists are kept: pages, and what middleware makes of a list for several kinds of clients.
const mostLists = 8

type list struct {
	tools []*mcp.Tool
	text  []byte
}

// encode writes a list. Its tools stand at its end.
func (l *lists) encode(event *bytes.Buffer, result *mcp.ListToolsResult) error {
	tools, err := l.text(result.Tools)
	if err != nil {
		return err
	}
	around := *result
	around.Tools = nil
	start := event.Len()
	if err := encode(event, &around); err != nil {
		return err
	}
	if !bytes.HasSuffix(event.Bytes(), []byte(`"tools":null}`)) {
		event.Truncate(start)
		return encode(event, result)
	}
	event.Truncate(event.Len() - len("null}"))
	event.Write(tools)
	event.WriteByte('}')
	return nil
}

// text is the JSON of a list's tools.
func (l *lists) text(tools []*mcp.Tool) ([]byte, error) {
	l.mu.Lock()
	for _, known := range l.kept {
		if known.text != nil && slices.Equal(known.tools, tools) {
			l.mu.Unlock()
			return known.text, nil
		}
	}
	l.mu.Unlock()
	var text bytes.Buffer
	if err := encode(&text, tools); err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kept[l.next] = list{slices.Clone(tools), text.Bytes()}
		l.next = (l.next + 1) % mostLists
	}
	return text.Bytes(), nil
}
