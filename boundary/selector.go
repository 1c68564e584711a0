package boundary

import (
	"fmt"
	"strings"
)

// The kinds of [Selector].
const (
	NotFound      = "not_found"
	Ambiguous     = "ambiguous"
	InvalidFormat = "invalid_format"
)

const maxCandidates = 10

// Selector is the error of an argument that selects something and matched nothing,
// matched several, or has the wrong form. It is expected. Its type on the wire is
// its Kind.
type Selector struct {
	Kind       string   // NotFound, Ambiguous or InvalidFormat
	Selector   string   // the argument, such as "location"
	Candidates []string // values that would match; clients see the first ten
	Tool       string   // the tool that lists all values; optional
	Hints      []string
}

func (e *Selector) Error() string {
	text := fmt.Sprintf("%q was not found.", e.Selector)
	switch e.Kind {
	case Ambiguous:
		text = fmt.Sprintf("%q fits more than one.", e.Selector)
	case InvalidFormat:
		text = fmt.Sprintf("%q has the wrong form.", e.Selector)
	}
	if c := capped(e.Candidates); len(c) > 0 {
		text += " Candidates: " + strings.Join(c, "; ") + "."
	}
	return text
}

func (e *Selector) ToolErrorType() string   { return e.Kind }
func (e *Selector) ToolErrorExpected() bool { return true }

func (e *Selector) ToolErrorSelector() (string, []string) {
	return e.Selector, capped(e.Candidates)
}

// ToolErrorHints returns Hints, then a hint to call Tool.
func (e *Selector) ToolErrorHints() []string {
	hints := append([]string(nil), e.Hints...)
	if e.Tool != "" {
		hints = append(hints, fmt.Sprintf("Call %q for the valid values of %q.", e.Tool, e.Selector))
	}
	return hints
}

func capped(candidates []string) []string {
	return candidates[:min(len(candidates), maxCandidates)]
}
