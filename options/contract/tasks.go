package contract

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/tasks"
)

// installTasks makes every call of a tool a task, for clients that take tasks. It changes
// nothing for the others, and so every server of this package has it.
func installTasks(w *mrtrtest.World, server *mcp.Server, rt *mrtr.Runtime, tool string) {
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt, Policy: map[string]tasks.Policy{tool: {AtOnce: true}}})
	must(err)
	w.Cleanup(func() { must(m.Close()) })
}

// TaskContracts are the modern calls as tasks. A question that is never answered stays open,
// and so there is no such call among them.
func TaskContracts(modern []mrtrtest.Contract) (contracts []mrtrtest.Contract) {
	for _, c := range modern {
		if !strings.HasSuffix(c.Name, "never answered") {
			contracts = append(contracts, c)
		}
	}
	return contracts
}
