package toolschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// schedulingFlag is an argument that some agents' runtimes use to schedule calls
// and leave in the calls by mistake.
const schedulingFlag = "wait_for_previous"

// unknownArgument is the finding for an argument that a closed schema does not
// name.
func unknownArgument(schema *jsonschema.Schema, name string, client func() string) Finding {
	f := Finding{Pointer: pointer("", name), Problem: "is not an argument of this tool"}
	if name == schedulingFlag {
		f.Hint = fmt.Sprintf("%q is a scheduling flag of the agent's own runtime and was sent to the tool by mistake: leave it out.", schedulingFlag)
		return f
	}
	if client != nil && client() != "" {
		f.Problem += ", though " + client() + " sent it"
	}
	valid := slices.Sorted(maps.Keys(schema.Properties))
	switch near := spelling.Nearest(name, valid, 1); {
	case len(valid) == 0:
		f.Hint = "This tool takes no arguments."
	case len(near) > 0:
		f.Hint = fmt.Sprintf("Did you mean %q? Valid arguments: %s.", near[0], strings.Join(valid, ", "))
	default:
		f.Hint = fmt.Sprintf("Valid arguments: %s.", strings.Join(valid, ", "))
	}
	return f
}
