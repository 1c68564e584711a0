package sdk_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/check/invariant"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
)

// The weather tool in every style is one tool to its clients. So is the order tool,
// whose result needs the value of the effect between its questions, and the one that
// asks both questions in one round.
func TestInvariant(t *testing.T) {
	require.Len(t, invariant.AllStyles(), len(options.All))
	for _, s := range invariant.AllStyles() {
		require.Contains(t, invariant.EffectAt, s.Name, "where does it audit?")
	}
	mrtrtest.Alike(t, invariant.AllStyles(), invariant.ModernContracts(), invariant.OneInstance)
	require.Len(t, invariant.OrderStyles(), len(options.All)+1, "every style, and resumable")
	mrtrtest.Alike(t, invariant.OrderStyles(), invariant.OrderContracts(), invariant.OneInstance)
	require.Len(t, invariant.TogetherStyles(), len(options.All)+1)
	mrtrtest.Alike(t, invariant.TogetherStyles(), invariant.TogetherContracts(), invariant.OneInstance)
}

// The same handlers are asked as tasks: the same questions, results and effects.
func TestInvariantOfTasks(t *testing.T) {
	styles := append(invariant.AllStyles(), invariant.Resumable())
	mrtrtest.Alike(t, styles, invariant.TaskContracts(invariant.ModernContracts()), invariant.AsTask)
	mrtrtest.Alike(t, invariant.OrderStyles(), invariant.TaskContracts(invariant.OrderContracts()), invariant.AsTask)
	mrtrtest.Alike(t, invariant.TogetherStyles(), invariant.TaskContracts(invariant.TogetherContracts()), invariant.AsTask)
	for _, s := range styles {
		saw := mrtrtest.Call(t, s.Build, invariant.ModernContracts()[0].Script, invariant.AsTask)
		require.Contains(t, saw.Transcript(), "client tasks/update", s.Name)
	}
}

// With a store that the instances share, a task goes on at any of them.
func TestInvariantOfTasksAcrossInstances(t *testing.T) {
	var styles []mrtrtest.Subject
	for _, o := range options.All {
		if o.Name != "coroutine" {
			styles = append(styles, invariant.SubjectUnder(mrtr.Options{Store: invariant.SharedStore()}, o.Name, invariant.EffectAt[o.Name], o.New))
		}
	}
	require.Len(t, styles, len(options.All)-1)
	mrtrtest.Alike(t, styles, invariant.TaskContracts(invariant.ModernContracts()), invariant.FreshTask)
}

// Every style but the coroutine goes on at any instance, and its client sees
// the same messages as with one instance.
func TestInvariantAcrossInstances(t *testing.T) {
	anywhere := append(invariant.Styles("native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "journal", "given"), invariant.Resumable())
	mrtrtest.Alike(t, anywhere, invariant.ModernContracts(), invariant.Fresh)
	mrtrtest.Alike(t, []mrtrtest.Subject{invariant.Resumable()}, invariant.ModernContracts(), invariant.OneInstance)

	orders := slices.DeleteFunc(invariant.OrderStyles(), func(s mrtrtest.Subject) bool { return s.Name == "coroutine" })
	require.Len(t, orders, len(options.All))
	mrtrtest.Alike(t, orders, invariant.OrderContracts(), invariant.Fresh)

	together := slices.DeleteFunc(invariant.TogetherStyles(), func(s mrtrtest.Subject) bool { return s.Name == "coroutine" })
	require.Len(t, together, len(options.All))
	mrtrtest.Alike(t, together, invariant.TogetherContracts(), invariant.Fresh)

	for _, c := range invariant.ModernContracts() {
		one, err := mrtrtest.Play(t.Context(), invariant.Styles("native")[0].Build, c.Script, invariant.OneInstance)
		require.NoError(t, err)
		many, err := mrtrtest.Play(t.Context(), invariant.Styles("native")[0].Build, c.Script, invariant.Fresh)
		require.NoError(t, err)
		require.Equal(t, one.Messages, many.Messages, c.Name)
	}
}

// The coroutine's frame is held by one instance. A round that reaches another
// instance ends the call with an error that names the effects, and has no
// effect twice. A call that needs no held handler keeps its contract.
func TestInvariantOfALostFrame(t *testing.T) {
	coroutine := invariant.Styles("coroutine")[0]
	kept, lost := 0, 0
	for _, c := range invariant.ModernContracts() {
		t.Run(c.Name, func(t *testing.T) {
			if !resumes(c) {
				kept++
				mrtrtest.Alike(t, []mrtrtest.Subject{coroutine}, []mrtrtest.Contract{c}, invariant.Fresh)
				return
			}
			lost++
			saw, err := mrtrtest.Play(t.Context(), coroutine.Build, c.Script, invariant.Fresh)
			require.NoError(t, err)
			require.True(t, saw.IsError)
			require.Equal(t, "This call's frame is gone: it was held by a server that no longer has it."+lostAdvice(len(saw.Effects)), saw.Text)
			require.Empty(t, saw.Structured)
			require.NotContains(t, string(saw.Result), "requestState")
			require.LessOrEqual(t, len(saw.Effects), 1)
		})
	}
	require.NotZero(t, kept)
	require.NotZero(t, lost)
}

// lostAdvice is the advice of a lost frame's error on the effects before it.
func lostAdvice(effects int) string {
	if effects == 0 {
		return " What it has done is unknown: do not call the tool again without checking."
	}
	return ` "audit" was done, and perhaps more: do not call the tool again without checking.`
}

// resumes reports whether a call needs the held handler in a later round: to
// run on after an accepted answer, or to ask again.
func resumes(c mrtrtest.Contract) bool {
	return len(c.Asks) > 1 || len(c.Asks) == 1 && !c.Ends.IsError
}

// A legacy client is asked over its connection.
func TestInvariantForLegacyClients(t *testing.T) {
	mrtrtest.Alike(t, invariant.Styles(invariant.AskingLegacy...), invariant.LegacyContracts(), invariant.Legacy)
	require.NotEmpty(t, invariant.LegacyOrderContracts())
	mrtrtest.Alike(t, invariant.OrderStyles(), invariant.LegacyOrderContracts(), invariant.Legacy)
}

// A modern client that lacks a capability gets a JSON-RPC error that names it.
func TestInvariantOfAMissingCapability(t *testing.T) {
	missing := mrtrtest.Ending{ProtocolError: `{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`}
	mrtrtest.Alike(t, invariant.AllStyles(), invariant.Refusals(missing), invariant.SilentModern)
}

// A legacy client that lacks a capability gets an error result that names it,
// since the policy of these styles is to ask.
func TestInvariantOfARefusal(t *testing.T) {
	mrtrtest.Alike(t, invariant.Styles(invariant.AskingLegacy...), invariant.Refusals(invariant.Refused("units", "form elicitation.")), invariant.SilentLegacy)
}

// A client that was negotiated down is refused with the same words in every
// style, whether the engine would ask it or the handler itself.
func TestInvariantOfAClientNegotiatedDown(t *testing.T) {
	mrtrtest.Alike(t, invariant.Styles(invariant.AskingLegacy...), invariant.Refusals(invariant.Refused("units", invariant.LacksSession)), invariant.NegotiatedDown)
}

// Under the policy of defaults the engine never asks a legacy client, whatever the
// client declared. The default of the units is metric; place has none. The three
// styles that ask by themselves are not under a policy of the engine.
func TestInvariantOfTheDefaults(t *testing.T) {
	var subjects []mrtrtest.Subject
	for _, o := range options.All {
		switch o.Name {
		case "native", "once", "steps", "coroutine", "journal":
			subjects = append(subjects, invariant.SubjectUnder(mrtr.Options{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults}, o.Name, invariant.EffectAt[o.Name], o.New))
		}
	}
	require.Len(t, subjects, 5)
	for _, c := range []struct {
		in    *mrtrtest.Options
		lacks string
	}{
		{invariant.Legacy, invariant.LacksRevision},
		{invariant.SilentLegacy, invariant.LacksRevision},
		{invariant.NegotiatedDown, invariant.LacksSession},
	} {
		t.Run(c.in.String(), func(t *testing.T) {
			mrtrtest.Alike(t, subjects, invariant.Defaults(c.lacks), c.in)
		})
	}
}

// In tools/list, too, nothing but name and description tells one style from
// another, for clients of either era and for those that cannot be asked.
func TestInvariantOfTheDefinitions(t *testing.T) {
	rt, err := mrtr.New(invariant.OnForcedStore(nil))
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	for _, o := range options.All {
		mrtr.AddTool(server, &mcp.Tool{Name: o.Tool(), Description: o.Lesson}, o.New(rt, &options.Audit{}))
	}
	var first []byte
	for _, in := range []*wire.Options{
		{Name: "modern"},
		{Name: "modern, silent", Capabilities: wire.Nothing},
		{Name: "legacy", Version: wire.Legacy},
		{Name: "legacy, silent", Version: wire.Legacy, Capabilities: wire.Nothing},
		{Name: "negotiated down", Handshake: true},
	} {
		for _, tool := range listed(t, server, in) {
			name := string(tool["name"])
			require.JSONEq(t, inputSchema, string(tool["inputSchema"]), name)
			require.JSONEq(t, outputSchema, string(tool["outputSchema"]), name)
			delete(tool, "name")
			delete(tool, "description")
			rest, err := json.Marshal(tool)
			require.NoError(t, err)
			if first == nil {
				first = rest
			}
			require.Equal(t, string(first), string(rest), "%s, %s", name, in.Name)
		}
	}
}

// listed are the definitions that a client gets, one for each style.
func listed(t *testing.T, server *mcp.Server, in *wire.Options) []map[string]json.RawMessage {
	t.Helper()
	client, err := wire.Connect(t.Context(), server, in)
	require.NoError(t, err)
	reply, err := client.Send(t.Context(), wire.Request{Method: "tools/list"})
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.Nil(t, reply.Error, in.Name)
	var list struct {
		Tools []map[string]json.RawMessage `json:"tools"`
	}
	require.NoError(t, json.Unmarshal(reply.Result, &list))
	require.NotEmpty(t, list.Tools)
	require.Len(t, list.Tools, len(options.All), in.Name)
	return list.Tools
}

const (
	inputSchema = `{
		"type": "object",
		"properties": {"location": {"type": "string", "description": "the name of a place"}},
		"required": ["location"],
		"additionalProperties": false
	}`
	outputSchema = `{
		"type": "object",
		"properties": {
			"location": {"type": "string"}, "temperature": {"type": "integer"},
			"unit": {"type": "string"}, "conditions": {"type": "string"}
		},
		"required": ["location", "temperature", "unit", "conditions"],
		"additionalProperties": false
	}`
)
