package toolschema

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// schedulingFlag is an argument that some agents' runtimes use to schedule calls
// and leave in the calls by mistake.
const schedulingFlag = "wait_for_previous"

// unknownArguments returns the findings for the arguments that a closed schema does
// not name, and removes those arguments: reported here, with a hint, they need no
// explanation.
func (s *Schema) unknownArguments(args map[string]any, client func() string) []Finding {
	if !s.closed {
		return nil
	}
	names, left := smallest(maxFindings-1, func(yield func(string) bool) {
		for name := range args {
			if s.source.Properties[name] == nil && !yield(name) {
				return
			}
		}
	})
	if len(names) == 0 {
		return nil
	}
	for name := range args {
		if s.source.Properties[name] == nil {
			delete(args, name)
		}
	}
	sender := ""
	if client != nil {
		sender = client()
	}
	var findings []Finding
	for i, name := range names {
		findings = append(findings, s.unknownArgument(name, sender, i < maxHints))
	}
	if left > 0 {
		findings = append(findings, Finding{Problem: fmt.Sprintf("have %d more names that are not arguments of this tool", left)})
	}
	return findings
}

func (s *Schema) unknownArgument(name, sender string, hinted bool) Finding {
	f := Finding{Pointer: pointerTo(nil, name), Problem: "is not an argument of this tool"}
	if name == schedulingFlag {
		f.Hint = fmt.Sprintf("%q is a scheduling flag of the agent's own runtime and was sent to the tool by mistake: leave it out.", schedulingFlag)
		if sender != "" {
			f.Hint = fmt.Sprintf("%q is a scheduling flag of the agent's own runtime and was sent to the tool by mistake, by %s: leave it out.", schedulingFlag, sender)
		}
		return f
	}
	if sender != "" {
		f.Problem += ", though " + sender + " sent it"
	}
	if !hinted {
		return f
	}
	valid := strings.Join(s.names[:min(len(s.names), maxListed)], ", ")
	if more := len(s.names) - maxListed; more > 0 {
		valid += fmt.Sprintf(", and %d more", more)
	}
	switch near := spelling.Nearest(name, s.names, 1); {
	case len(s.names) == 0:
		f.Hint = "This tool takes no arguments."
	case len(near) > 0:
		f.Hint = fmt.Sprintf("Did you mean %q? Valid arguments: %s.", near[0], valid)
	default:
		f.Hint = fmt.Sprintf("Valid arguments: %s.", valid)
	}
	return f
}

// smallest returns the n smallest names, sorted, and how many others there are. It
// keeps no more than n of them.
func smallest(n int, names iter.Seq[string]) (kept []string, left int) {
	for name := range names {
		if len(kept) == n {
			left++
			if n == 0 || name >= kept[n-1] {
				continue
			}
			kept = kept[:n-1]
		}
		at, _ := slices.BinarySearch(kept, name)
		kept = slices.Insert(kept, at, name)
	}
	return kept, left
}
