package toolschema

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
// made: maxFindings of them, of which maxHints have a hint, and one that counts the
// unknown names left out. Which ones does not depend on the order of a map. Once ctx
// has ended no further problems are looked for.
//
// client names the client that sent them, for the finding on an argument that the
// schema does not name. It may be nil or return "", and is called only there.
func (s *Schema) Arguments(ctx context.Context, raw json.RawMessage, client func() string) []Finding {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if bytes.HasPrefix(raw, []byte("{")) && s.quick.accepts(raw) {
		return nil
	}
	var args map[string]any
	if err := json.Unmarshal(raw, &args); err != nil {
		return []Finding{{Problem: "must be a JSON object"}}
	}
	if args == nil {
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
