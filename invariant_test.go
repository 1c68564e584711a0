package sdk_test

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/contract"
)

// The weather tool is written in nine styles. To a client they are one tool: the same
// questions, the same report, and one charge for a completed call.
func TestInvariant(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	cards := map[string]*options.Card{}
	for _, style := range options.All {
		cards[style.Name] = &options.Card{}
		mcp.AddTool(server, &mcp.Tool{Name: style.Name}, style.New(rt, cards[style.Name]))
	}
	var asked []string
	user := func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, req.Params.Message)
		answers := map[string]map[string]any{
			"Which Springfield?": {"place": "Springfield, Missouri"},
			"Which units?":       {"units": "imperial"},
		}
		return &mcp.ElicitResult{Action: "accept", Content: answers[req.Params.Message]}, nil
	}
	client := connect(t, server, &mcp.ClientOptions{ElicitationHandler: user})

	require.Len(t, options.All, 9)
	for _, style := range options.All {
		asked = nil
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{
			Name: style.Name, Arguments: map[string]any{"location": "Springfield"},
		})
		require.NoError(t, err)
		require.Equal(t, []string{"Which Springfield?", "Which units?"}, asked, style.Name)
		require.Equal(t, "Weather in Springfield, Missouri: 70°F, sunny.", result.Content[0].(*mcp.TextContent).Text, style.Name)
		require.Equal(t, []string{"charged the card for Springfield, Missouri"}, cards[style.Name].Charges(), style.Name)
	}
}

// connect is a client of the server's, in memory.
func connect(t *testing.T, server *mcp.Server, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, opts).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// The same holds of every answer that a user can give: each style keeps each contract, to
// the byte. So it does for the order tool, whose result needs the value of the effect
// between its questions, and for the one that asks both questions in one round.
func TestInvariantOfEveryContract(t *testing.T) {
	require.Len(t, contract.AllStyles(), len(options.All))
	for _, s := range contract.AllStyles() {
		require.Contains(t, contract.ChargesEarly, s.Name, "where does it charge?")
	}
	require.Len(t, contract.OwnStyles(), 2)
	mrtrtest.Alike(t, append(contract.AllStyles(), contract.OwnStyles()...), contract.ModernContracts(), contract.OneInstance)
	require.Len(t, contract.OrderStyles(), len(options.All)+3, "every style, resumable, and two of our own")
	mrtrtest.Alike(t, contract.OrderStyles(), contract.OrderContracts(), contract.OneInstance)
	require.Len(t, contract.TogetherStyles(), len(options.All)+1)
	mrtrtest.Alike(t, contract.TogetherStyles(), contract.TogetherContracts(), contract.OneInstance)
}

// The same handlers are asked as tasks: the same questions, results and effects.
func TestInvariantOfTasks(t *testing.T) {
	styles := slices.Concat(contract.AllStyles(), []mrtrtest.Subject{contract.Resumable()}, contract.OwnStyles())
	mrtrtest.Alike(t, styles, contract.TaskContracts(contract.ModernContracts()), contract.AsTask)
	mrtrtest.Alike(t, contract.OrderStyles(), contract.TaskContracts(contract.OrderContracts()), contract.AsTask)
	mrtrtest.Alike(t, contract.TogetherStyles(), contract.TaskContracts(contract.TogetherContracts()), contract.AsTask)
	for _, s := range styles {
		saw := mrtrtest.Call(t, s.Build, contract.ModernContracts()[0].Script, contract.AsTask)
		require.Contains(t, saw.Transcript(), "client tasks/update", s.Name)
	}
}

// With a store that the instances share, a task goes on at any of them.
func TestInvariantOfTasksAcrossInstances(t *testing.T) {
	var styles []mrtrtest.Subject
	for _, o := range options.All {
		if o.Name != "coroutine" {
			styles = append(styles, contract.SubjectUnder(mrtr.Options{Durable: durable.In(contract.SharedStore(), nil)}, o.Name, contract.ChargesEarly[o.Name], o.New))
		}
	}
	require.Len(t, styles, len(options.All)-1)
	mrtrtest.Alike(t, styles, contract.TaskContracts(contract.ModernContracts()), contract.FreshTask)
}

// Every style but the coroutine goes on at any instance, and its client sees
// the same messages as with one instance.
func TestInvariantAcrossInstances(t *testing.T) {
	anywhere := append(contract.Styles("native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "journal", "given"), contract.Resumable())
	anywhere = append(anywhere, contract.OwnStyles()...)
	mrtrtest.Alike(t, anywhere, contract.ModernContracts(), contract.Fresh)
	mrtrtest.Alike(t, []mrtrtest.Subject{contract.Resumable()}, contract.ModernContracts(), contract.OneInstance)

	orders := slices.DeleteFunc(contract.OrderStyles(), func(s mrtrtest.Subject) bool { return s.Name == "coroutine" })
	require.Len(t, orders, len(options.All)+2)
	mrtrtest.Alike(t, orders, contract.OrderContracts(), contract.Fresh)

	together := slices.DeleteFunc(contract.TogetherStyles(), func(s mrtrtest.Subject) bool { return s.Name == "coroutine" })
	require.Len(t, together, len(options.All))
	mrtrtest.Alike(t, together, contract.TogetherContracts(), contract.Fresh)

	for _, c := range contract.ModernContracts() {
		one, err := mrtrtest.Play(t.Context(), contract.Styles("native")[0].Build, c.Script, contract.OneInstance)
		require.NoError(t, err)
		many, err := mrtrtest.Play(t.Context(), contract.Styles("native")[0].Build, c.Script, contract.Fresh)
		require.NoError(t, err)
		require.Equal(t, one.Messages, many.Messages, c.Name)
	}
}

// The coroutine's frame is held by one instance. A round that reaches another
// instance ends the call with an error that names the effects, and has no
// effect twice. A call that needs no held handler keeps its contract.
func TestInvariantOfALostFrame(t *testing.T) {
	coroutine := contract.Styles("coroutine")[0]
	kept, lost := 0, 0
	for _, c := range contract.ModernContracts() {
		t.Run(c.Name, func(t *testing.T) {
			if !resumes(c) {
				kept++
				mrtrtest.Alike(t, []mrtrtest.Subject{coroutine}, []mrtrtest.Contract{c}, contract.Fresh)
				return
			}
			lost++
			saw, err := mrtrtest.Play(t.Context(), coroutine.Build, c.Script, contract.Fresh)
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
	return ` "charge" was done, and perhaps more: do not call the tool again without checking.`
}

// resumes reports whether a call needs the held handler in a later round: to
// run on after an accepted answer, or to ask again.
func resumes(c mrtrtest.Contract) bool {
	return len(c.Asks) > 1 || len(c.Asks) == 1 && !c.Ends.IsError
}

// A legacy client is asked over its connection. There landmine B really waits, and charges once.
func TestInvariantForLegacyClients(t *testing.T) {
	mrtrtest.Alike(t, append(contract.Styles(contract.AskingLegacy...), contract.OwnStyles()...), contract.LegacyContracts(), contract.Legacy)
	mrtrtest.Alike(t, contract.Styles("await"), contract.Unsaid(contract.LegacyContracts()), contract.Legacy)
	require.NotEmpty(t, contract.LegacyOrderContracts())
	mrtrtest.Alike(t, contract.OrderStyles(), contract.LegacyOrderContracts(), contract.Legacy)
}

// A modern client that lacks a capability gets a JSON-RPC error that names it, with the tool and
// the question.
func TestInvariantOfAMissingCapability(t *testing.T) {
	missing := mrtrtest.Ending{ProtocolError: `{"code":-32021,"message":"Missing required client capability: \"weather\" asks \"units\"","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`}
	mrtrtest.Alike(t, contract.AllStyles(), contract.Refusals(missing), contract.SilentModern)
}

// A legacy client that lacks a capability gets an error result that names it,
// since the policy of these styles is to ask.
func TestInvariantOfARefusal(t *testing.T) {
	mrtrtest.Alike(t, contract.Styles(contract.AskingLegacy...), contract.Refusals(contract.Refused("units", "form elicitation.")), contract.SilentLegacy)
}

// A client that was negotiated down is refused with the same words in every
// style, whether the engine would ask it or the handler itself.
func TestInvariantOfAClientNegotiatedDown(t *testing.T) {
	mrtrtest.Alike(t, contract.Styles(contract.AskingLegacy...), contract.Refusals(contract.Refused("units", contract.LacksSession)), contract.NegotiatedDown)
}

// Under the policy of defaults the engine never asks a legacy client, whatever the
// client declared. The default of the units is metric; place has none. The three
// styles that ask by themselves are not under a policy of the engine.
func TestInvariantOfTheDefaults(t *testing.T) {
	var subjects []mrtrtest.Subject
	for _, o := range options.All {
		switch o.Name {
		case "native", "once", "steps", "coroutine", "journal":
			subjects = append(subjects, contract.SubjectUnder(mrtr.Options{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults}, o.Name, contract.ChargesEarly[o.Name], o.New))
		}
	}
	require.Len(t, subjects, 5)
	for _, c := range []struct {
		in    *mrtrtest.Options
		lacks string
	}{
		{contract.Legacy, contract.LacksRevision},
		{contract.SilentLegacy, contract.LacksRevision},
		{contract.NegotiatedDown, contract.LacksSession},
	} {
		t.Run(c.in.String(), func(t *testing.T) {
			mrtrtest.Alike(t, subjects, contract.Defaults(c.lacks), c.in)
		})
	}
}

// In tools/list, too, nothing but name and description tells one style from
// another, for clients of either era and for those that cannot be asked.
func TestInvariantOfTheDefinitions(t *testing.T) {
	rt, err := mrtr.New(contract.OnForcedStore(nil))
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	for _, o := range options.All {
		mrtr.AddTool(server, &mcp.Tool{Name: o.Tool(), Description: o.Lesson}, o.New(rt, &options.Card{}))
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

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
