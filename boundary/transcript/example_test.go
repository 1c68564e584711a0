package transcript_test

import (
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

// Two calls in one turn, and the process died before the second had its result.
func Example() {
	read, err := transcript.Read(strings.NewReader(`[
  {"role": "user", "content": "Weather in Lisbon and Tokyo?"},
  {"role": "assistant", "content": [
    {"type": "tool_use", "id": "a", "name": "weather", "input": {"location": "Lisbon"}},
    {"type": "tool_use", "id": "b", "name": "weather", "input": {"location": "Tokyo"}}
  ]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "22°C"}]}
]`))
	if err != nil {
		panic(err)
	}
	for _, finding := range read.Check() {
		fmt.Println(finding)
	}
	fixed, _ := read.Repair()
	fmt.Println("after the repair:", len(fixed.Check()), "findings")
	// Output:
	// messages[1].content[1]: missing: tool "weather", id "b": this tool use has no result. Put one into the user message directly after it; if it was lost, an error result.
	// after the repair: 0 findings
}
