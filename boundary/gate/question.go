package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// questionKey is the key of the gate's question. Its dot keeps it apart from those of tools.
const questionKey = "gate.approve"

// decision is the answer to the question.
type decision struct {
	Approve  bool `json:"approve"`
	Remember bool `json:"remember"`
}

// form is the schema of the answer, with a second field if the approval may last.
func (g *Gate) form(lasting bool) json.RawMessage {
	remember := ""
	if lasting {
		what := "this tool"
		if g.o.Remember.PerArguments {
			what = "this tool with these arguments"
		}
		title, _ := json.Marshal(fmt.Sprintf("Do not ask again about %s for %s", what, span(g.o.Remember.For)))
		remember = `,"remember":{"type":"boolean","title":` + string(title) + `,"default":false}`
	}
	return json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Make this call"}` + remember + `},"required":["approve"]}`)
}

// span is a duration without parts that are zero.
func span(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + " days"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// The limits of a question, in characters, and in lines for arguments.
const (
	maxName  = 60
	maxPath  = 120
	maxValue = 240
	maxLines = 20
)

// Describe asks for a call in words: the tool's title and name, and a line for each value in
// the arguments, those at the top first. All of it is quoted, so that no argument can look
// like a line of the question: line breaks, control and bidirectional characters, characters
// that show nothing, and runs of spaces appear as escapes. A long text is cut in its middle,
// so that padding hides neither end, and values beyond the 20th are counted.
//
// An Options.Message that hides a secret replaces it in the arguments, and calls Describe.
func Describe(tool *mcp.Tool, arguments json.RawMessage) string {
	title := title(tool)
	var b strings.Builder
	if b.WriteString("Allow the call of "); title != "" && title != tool.Name {
		b.WriteString(quoted(title, maxName) + " (" + plain(tool.Name) + ")?")
	} else {
		b.WriteString(plain(tool.Name) + "?")
	}
	value, ok := decoded(arguments)
	if !ok {
		return b.String() + "\nIts arguments cannot be read."
	}
	root, lines, more := argument{value: value}, 0, 0
	if _, ok := value.(map[string]any); !ok {
		root.path = "arguments"
	}
	for queue := []argument{root}; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if inside := next.inside(); len(inside) > 0 {
			queue = append(queue, inside...)
		} else if next.path == "" { // there are none
			break
		} else if lines == maxLines || utf8.RuneCountInString(next.path) > maxPath {
			more++
		} else {
			lines++
			b.WriteString("\n" + next.path + ": " + shown(next.value))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nnot shown: %d values", more)
	}
	return b.String()
}

// title is a tool's title as people read it.
func title(tool *mcp.Tool) string {
	if tool.Title == "" && tool.Annotations != nil {
		return tool.Annotations.Title
	}
	return tool.Title
}

// decoded reads arguments, and keeps the digits of numbers. Absent ones are none.
func decoded(arguments json.RawMessage) (value any, ok bool) {
	if len(arguments) == 0 {
		return map[string]any{}, true
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	return value, d.Decode(&value) == nil
}

// argument is a value somewhere in the arguments.
type argument struct {
	path  string
	value any
}

// inside are the values that a value consists of.
func (a argument) inside() (all []argument) {
	switch v := a.value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path := plain(name)
			if a.path != "" {
				path = a.path + "." + path
			}
			all = append(all, argument{path, v[name]})
		}
	case []any:
		for i, item := range v {
			all = append(all, argument{a.path + "[" + strconv.Itoa(i) + "]", item})
		}
	}
	return all
}

// shown is a value with nothing inside it.
func shown(value any) string {
	switch v := value.(type) {
	case string:
		return quoted(v, maxValue)
	case json.Number:
		digits, note := ends(v.String(), maxValue)
		return digits + note
	case map[string]any:
		return "{}"
	case []any:
		return "[]"
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

// plain is a name as it is, if it looks like one, and quoted otherwise.
func plain(name string) string {
	const usual = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if name == "" || len(name) > maxName || strings.Trim(name, usual) != "" {
		return quoted(name, maxName)
	}
	return name
}

// quoted is a text in quotation marks, with everything in it visible.
func quoted(text string, limit int) string {
	shown, note := ends(text, limit)
	return `"` + shown + `"` + note
}

// ends is a text with everything in it visible. If it is too long, these are its two ends, and
// a note of its length.
func ends(text string, limit int) (shown, note string) {
	head, rest := beginning(text, limit)
	if rest == "" {
		return head, ""
	}
	head, rest = beginning(text, limit*2/3)
	tail, room, last := "", limit/3, rune(0)
	for rest != "" {
		r, size := utf8.DecodeLastRuneInString(rest)
		piece := visible(r, last)
		if room -= utf8.RuneCountInString(piece); room < 0 {
			break
		}
		tail, rest, last = piece+tail, rest[:len(rest)-size], r
	}
	return head + " … " + tail, fmt.Sprintf(" (cut: %d characters)", utf8.RuneCountInString(text))
}

// beginning is as much of a text as there is room for, and the rest of the text.
func beginning(text string, room int) (shown, rest string) {
	var b strings.Builder
	last := rune(0)
	for i, r := range text {
		piece := visible(r, last)
		if room -= utf8.RuneCountInString(piece); room < 0 {
			return b.String(), text[i:]
		}
		b.WriteString(piece)
		last = r
	}
	return b.String(), ""
}

// visible is a character as it is, or as an escape if it shows nothing, moves others, or ends
// the quotation.
func visible(r, beside rune) string {
	switch {
	case r == ' ' && beside == ' ':
		return `\x20`
	case r == '\'':
		return "'"
	case r == '"':
		return `\"`
	case unicode.In(r, unseen...):
		return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
	}
	return strings.Trim(strconv.QuoteRune(r), "'")
}

// unseen are characters that show nothing, and that strconv takes for printable ones.
var unseen = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // a blank of Braille
}
