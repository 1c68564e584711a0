package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/plaintext"
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
	maxNamed = 100
)

// Describe asks for a call in words: the tool's title and name, and a line for each value in
// the arguments. Those that the tool's schema names, with all that is inside them, come before
// the others, and those at the top before what is deeper. All of it is quoted, so that no
// argument can look like a line of the question: line breaks, control and bidirectional
// characters, characters that show nothing, and runs of spaces appear as escapes. A long text is
// cut in its middle, so that padding hides neither end. There are lines for 100 values that the
// schema names, and for others until there are 20; the rest are counted. Without an
// Options.Message, a call is refused if one that the schema names is among the rest.
//
// An Options.Message that hides a secret replaces it in the arguments, and calls Describe.
func Describe(tool *mcp.Tool, arguments json.RawMessage) string {
	text, _ := describe(tool, arguments)
	return text
}

// question is the text of the question. hides is true if the user would not see all that the tool
// may heed.
func (g *Gate) question(tool *mcp.Tool, arguments json.RawMessage) (text string, hides bool) {
	if g.o.Message != nil {
		return g.o.Message(tool, arguments), false
	}
	return describe(tool, arguments)
}

// tooMany refuses a call of which nobody could be shown enough to approve it.
type tooMany struct{}

func (tooMany) Error() string {
	return "The call was not made: its arguments have more values than a user can be shown. Make calls with fewer in each."
}
func (tooMany) ToolErrorType() string   { return "too_many_values" }
func (tooMany) ToolErrorExpected() bool { return true }

func describe(tool *mcp.Tool, arguments json.RawMessage) (text string, hides bool) {
	title := title(tool)
	var b strings.Builder
	if b.WriteString("Allow the call of "); title != "" && title != tool.Name {
		b.WriteString(quoted(title, maxName) + " (" + plain(tool.Name) + ")?")
	} else {
		b.WriteString(plain(tool.Name) + "?")
	}
	value, ok := decoded(arguments)
	if !ok {
		return b.String() + "\nIts arguments cannot be read.", false
	}
	names, lines, more := named(tool.InputSchema), 0, 0
	if _, ok := value.(map[string]any); !ok {
		value = map[string]any{"arguments": value}
	}
	for _, part := range []struct {
		named bool
		limit int
	}{{true, maxNamed}, {false, maxLines}} {
		for leaf := range leaves(value, func(name string) bool { return names[name] == part.named }) {
			if lines < part.limit && leaf.length() <= maxPath {
				lines++
				b.WriteString("\n" + leaf.path() + ": " + shown(leaf.value))
			} else {
				more++
				hides = hides || part.named
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nnot shown: %d values", more)
	}
	return b.String(), hides
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

// argument is a value somewhere in the arguments. It has no path until it is shown: a small request
// can have hundreds of thousands of them, each at the end of a long one.
type argument struct {
	in    *argument // nil for all the arguments
	name  string    // in an object
	index int       // in a list
	value any
	chars int // of the path, where others are inside
}

// leaves are the values with nothing inside them, from the top down. part picks them by their names
// at the top: an agent may fill in any others that the schema does not name.
func leaves(value any, part func(name string) bool) iter.Seq[*argument] {
	return func(yield func(*argument) bool) {
		root := &argument{value: value}
		for queue := []*argument{root}; len(queue) > 0; queue = queue[1:] {
			for a := range queue[0].inside() {
				switch {
				case a.in == root && !part(a.name):
				case isEmpty(a.value):
					if !yield(&a) {
						return
					}
				default:
					a.chars = a.length()
					queue = append(queue, &a)
				}
			}
		}
	}
}

// inside are the values that a value consists of.
func (a *argument) inside() iter.Seq[argument] {
	return func(yield func(argument) bool) {
		switch v := a.value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if !yield(argument{in: a, name: name, value: v[name]}) {
					return
				}
			}
		case []any:
			for i, item := range v {
				if !yield(argument{in: a, index: i, value: item}) {
					return
				}
			}
		}
	}
}

// isEmpty reports whether there is nothing inside a value.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// length is that of the path, in characters, or any that is too long.
func (a *argument) length() int {
	if a.in.chars > maxPath {
		return a.in.chars
	}
	return a.in.chars + utf8.RuneCountInString(a.step())
}

func (a *argument) path() (path string) {
	for ; a.in != nil; a = a.in {
		path = a.step() + path
	}
	return path
}

// step is the end of the path.
func (a *argument) step() string {
	if _, ok := a.in.value.([]any); ok {
		return "[" + strconv.Itoa(a.index) + "]"
	}
	if a.in.in == nil {
		return plain(a.name)
	}
	return "." + plain(a.name)
}

// named are the properties of a schema.
func named(schema any) map[string]bool {
	var s struct{ Properties map[string]json.RawMessage }
	text, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	names := map[string]bool{}
	for name := range s.Properties {
		names[name] = err == nil
	}
	return names
}

// shown is a value with nothing inside it.
func shown(value any) string {
	switch v := value.(type) {
	case string:
		return quoted(v, maxValue)
	case json.Number:
		digits, note := plaintext.Ends(v.String(), maxValue)
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
	shown, note := plaintext.Ends(text, limit)
	return `"` + shown + `"` + note
}
