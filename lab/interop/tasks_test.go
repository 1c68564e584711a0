package interop_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// extTasks is the official client of the tasks extension.
var extTasks = peer{name: "ext-tasks", module: "@modelcontextprotocol/ext-tasks", version: "0.2.2"}

var (
	taskStyles = []string{"native", "once", "steps", "coroutine", "journal", "resumable", "given"}
	trip       = cell{Tool: "book", Location: "Lisbon", Answers: map[string]string{"seat": "window", "meal": "fish"}}
	seat       = elicitation{"Which seat?", []string{"seat"}}
	meal       = elicitation{"Which meal?", []string{"meal"}}
)

// taskEnd is the end of a task as its client sees it, with the effects of the tool.
type taskEnd struct {
	Status, Text, Effects string
	IsError               bool
	Questions             []elicitation
	Error                 string
}

// taskEnds are the ends of one style. Its tool holds a seat, asks for the seat and the meal,
// and sells a ticket. A hold is undone by a call that does not complete.
func taskEnds(style string) map[string]taskEnd {
	booked := taskEnd{Status: "task completed", Text: `{"plan":"to Lisbon: window, fish"}`, Effects: "hold ticket", Questions: []elicitation{seat, meal}}
	declined := taskEnd{Status: "task completed", Text: `Stopped: "seat" was declined.`, Effects: "hold unhold", IsError: true, Questions: []elicitation{seat}}
	cancelled := taskEnd{Status: "task cancelled", Effects: "hold unhold", Questions: []elicitation{seat}}
	if style == "given" { // asks for all of it at once, before it does anything
		booked.Questions = []elicitation{meal, seat}
		declined.Questions, cancelled.Questions = []elicitation{meal, seat}, []elicitation{meal}
		declined.Effects, cancelled.Effects = "", ""
	}
	return map[string]taskEnd{"answered": booked, "declined": declined, "cancelled": cancelled, "found again": booked}
}

// TestTasks has the official client of the extension call every style as a task: it answers,
// declines, cancels, and finds a task again that another session has left. It does so at one
// instance, and at two that share a store, of which every request goes to the other one.
func TestTasks(t *testing.T) {
	requirePeers(t, extTasks)
	base := serveTasks(t)
	cells := 0
	for _, style := range taskStyles {
		for _, instances := range []string{"one", "two"} {
			t.Run(style+"/"+instances, func(t *testing.T) {
				url := fmt.Sprintf("%s/%s/%s", base, style, instances)
				client := startDriver(t, []string{nodeProgram(), "peers/ext-tasks/driver.mjs", "--era", "modern", "--url", url + "/mcp"})
				for name, want := range taskEnds(style) {
					cells++
					asked := trip
					switch name {
					case "declined":
						asked.Decline = "seat"
					case "cancelled":
						asked.Then = "cancel"
					case "found again":
						asked.Then = "resume"
					}
					got := client.call(t, asked)
					require.Equal(t, want, taskEnd{got.Status, got.Text, effectsAt(t, url), got.IsError, got.Elicitations, got.Error}, name)
				}
				client.close(t)
			})
		}
	}
	require.Equal(t, 7*2*4, cells)
	t.Logf("%d tasks of %s %s", cells, extTasks.module, extTasks.version)
}

func effectsAt(t *testing.T, url string) string {
	t.Helper()
	res := fleet.Must(http.Get(url + "/effects"))(t)
	defer res.Body.Close()
	return string(fleet.Must(io.ReadAll(res.Body))(t))
}

// serveTasks starts the tests of package tasks as a server, which lives as long as its input
// is open.
func serveTasks(t *testing.T) string {
	t.Helper()
	server := exec.Command(buildTest(t, "../../tasks"), "-test.run=^TestEveryRequestGoesToTheOtherInstance$")
	server.Env = append(os.Environ(), "TASKS_TEST_SERVE=1")
	return fleet.ListenWhileOpen(t, server)
}
