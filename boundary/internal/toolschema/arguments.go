package toolschema

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/spelling"
)

// A Finding is one problem with a value.
type Finding struct {
	Pointer string // JSON pointer into the value; "" for the whole
	Problem string // reads after the pointer: "is required"
	Hint    string // a sentence that says what to send instead; often empty
}

// Arguments returns the problems with a call's arguments, sorted by pointer and
// text, or nil if they satisfy the schema. Absent arguments and null count as an
// empty object, as they do for go-sdk.
//
// The client chooses how much is wrong, so the findings are bounded before they are
// made: maxFindings of them, maxHints of them with a hint, and one that counts the
// unknown names left out. Which ones does not depend on the order of a map. Once ctx
// has ended no further problems are looked for.
//
// client names the client that sent them, for the finding on an argument that the
// schema does not name. It may be nil or return "", and is called only there.
func (s *Schema) Arguments(ctx context.Context, raw json.RawMessage, client func() string) []Finding {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	w := jsontext.Walk(raw, jsontext.MaxDepth)
	value := w.Decode()
	args, isObject := value.(map[string]any)
	switch {
	case !w.End(), !isObject && value != nil:
		return []Finding{{Problem: "must be a JSON object"}}
	case value == nil:
		args = map[string]any{}
	}
	findings := s.unknownArguments(args, client)
	if room := maxFindings - len(findings); room > 0 && s.validateArguments(args) != nil {
		findings = append(findings, s.explain(ctx, args, room)...)
		if len(findings) == 0 {
			findings = []Finding{{Problem: "do not satisfy the tool's input schema"}}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return strings.Compare(a.Pointer+"\x00"+a.Problem, b.Pointer+"\x00"+b.Problem)
	})
	return findings
}

// validateArguments fills the schema's defaults into args before it judges them,
// as go-sdk does: they count for minProperties and for conditions.
func (s *Schema) validateArguments(args map[string]any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	if err := s.resolved.ApplyDefaults(&args); err != nil {
		return err
	}
	return s.resolved.Validate(args)
}

// isClosed reports whether arguments that the schema does not name are refused.
// A schema that names some arguments and is silent about others counts as closed:
// a typed handler would drop the others without a word. A schema that says
// "additionalProperties": true, or allows more in any other way, is open.
func isClosed(s *jsonschema.Schema) bool {
	if isFalse(s.AdditionalProperties) {
		return len(s.PatternProperties) == 0
	}
	return len(s.Properties) > 0 && s.AdditionalProperties == nil &&
		len(s.PatternProperties) == 0 && s.UnevaluatedProperties == nil &&
		s.Ref == "" && s.DynamicRef == "" && len(s.AllOf) == 0 && len(s.AnyOf) == 0 &&
		len(s.OneOf) == 0 && s.If == nil && len(s.DependentSchemas) == 0
}

// isFalse recognizes the schema that nothing satisfies. jsonschema-go reads
// "additionalProperties": false as {"not": {}}, and writes it back as false.
func isFalse(s *jsonschema.Schema) bool {
	if s == nil || s.Not == nil {
		return false
	}
	data, err := json.Marshal(s)
	return err == nil && string(data) == "false"
}

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
