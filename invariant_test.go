package sdk_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/invariant"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// The settings in which the styles are called.
var (
	oneInstance = invariant.Setting{Name: "one instance"}
	// fresh is the hardest load balancer: no two rounds of a call reach the
	// same instance, and each instance is stopped before the next one starts.
	fresh = invariant.Setting{Name: "a fresh instance each round", FreshInstances: true}
	// legacy is a client that makes one tools/call and is asked over its
	// connection while that call is open. It never calls again, so it takes the
	// first reply for the result.
	legacy = invariant.Setting{Name: "legacy client", Client: &wire.Options{Version: wire.Legacy}}

	// The clients that cannot be asked: those that declare no capability, and
	// those that offered 2026-07-28 in a handshake and were negotiated down,
	// whom go-sdk does not ask.
	silentModern   = invariant.Setting{Name: "client without capabilities", Client: &wire.Options{Capabilities: wire.Nothing}}
	silentLegacy   = invariant.Setting{Name: "legacy client without capabilities", Client: &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing}}
	negotiatedDown = invariant.Setting{Name: "client negotiated down", Client: &wire.Options{Handshake: true}}
)

// The styles that ask a legacy client: all of them. B is among them, since with a
// legacy client it really waits.
var askingLegacy = []string{"native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal", "await"}

// The weather tool in every style is one tool to its clients. So is the order tool,
// whose result needs the value of the effect between its questions.
func TestInvariant(t *testing.T) {
	require.Len(t, allStyles(), len(options.All))
	for _, s := range allStyles() {
		require.Contains(t, effectAt, s.Name, "where does it audit?")
	}
	invariant.Run(t, allStyles(), modernContracts(), oneInstance)
	require.Len(t, orderStyles(), len(options.All)+1, "every style, and resumable")
	invariant.Run(t, orderStyles(), orderContracts(), oneInstance)
}

// Every style but the coroutine goes on at any instance, and its client sees
// the same messages as with one instance.
func TestInvariantAcrossInstances(t *testing.T) {
	anywhere := append(styles("native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "journal"), resumable())
	invariant.Run(t, anywhere, modernContracts(), fresh)
	invariant.Run(t, []invariant.Subject{resumable()}, modernContracts(), oneInstance)

	orders := slices.DeleteFunc(orderStyles(), func(s invariant.Subject) bool { return s.Name == "coroutine" })
	require.Len(t, orders, len(options.All))
	invariant.Run(t, orders, orderContracts(), fresh)

	for _, c := range modernContracts() {
		one, err := invariant.Play(t.Context(), styles("native")[0], c, oneInstance)
		require.NoError(t, err)
		many, err := invariant.Play(t.Context(), styles("native")[0], c, fresh)
		require.NoError(t, err)
		require.Equal(t, one.Messages, many.Messages, c.Name)
	}
}

// The coroutine's frame is held by one instance. A round that reaches another
// instance ends the call with an error that names the effects, and has no
// effect twice. A call that needs no held handler keeps its contract.
func TestInvariantOfALostFrame(t *testing.T) {
	coroutine := styles("coroutine")[0]
	kept, lost := 0, 0
	for _, c := range modernContracts() {
		t.Run(c.Name, func(t *testing.T) {
			if !resumes(c) {
				kept++
				invariant.Run(t, []invariant.Subject{coroutine}, []invariant.Contract{c}, fresh)
				return
			}
			lost++
			saw, err := invariant.Play(t.Context(), coroutine, c, fresh)
			require.NoError(t, err)
			require.True(t, saw.Last.IsError)
			require.Equal(t, "This call's frame is gone: it was held by a server that no longer has it."+lostAdvice(len(saw.Effects)), saw.Last.Text)
			require.Empty(t, saw.Last.Structured)
			require.Empty(t, saw.Last.State)
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
func resumes(c invariant.Contract) bool {
	return len(c.Asks) > 1 || len(c.Asks) == 1 && !c.Ends.IsError
}

// A legacy client is asked over its connection.
func TestInvariantForLegacyClients(t *testing.T) {
	invariant.Run(t, styles(askingLegacy...), legacyContracts(), legacy)
	require.NotEmpty(t, legacyOrderContracts())
	invariant.Run(t, orderStyles(), legacyOrderContracts(), legacy)
}

// A modern client that lacks a capability gets a JSON-RPC error that names it.
func TestInvariantOfAMissingCapability(t *testing.T) {
	missing := invariant.Ending{ProtocolError: `{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`}
	invariant.Run(t, allStyles(), refusals(missing), silentModern)
}

// A legacy client that lacks a capability gets an error result that names it,
// since the policy of these styles is to ask.
func TestInvariantOfARefusal(t *testing.T) {
	invariant.Run(t, styles(askingLegacy...), refusals(refused("units", "form elicitation.")), silentLegacy)
}

// A client that was negotiated down is refused with the same words in every
// style, whether the engine would ask it or the handler itself.
func TestInvariantOfAClientNegotiatedDown(t *testing.T) {
	invariant.Run(t, styles(askingLegacy...), refusals(refused("units", noSession)), negotiatedDown)
}

const noSession = "protocol revision 2026-07-28, or a session that can carry a question."

// Under the policy of defaults the engine never asks a legacy client, whatever the
// client declared. The default of the units is metric; place has none. The three
// styles that ask by themselves are not under a policy of the engine.
func TestInvariantOfTheDefaults(t *testing.T) {
	var subjects []invariant.Subject
	for _, o := range options.All {
		switch o.Name {
		case "native", "once", "steps", "coroutine", "journal":
			subjects = append(subjects, subjectUnder(mrtr.LegacyDefaults, o.Name, effectAt[o.Name], o.New))
		}
	}
	require.Len(t, subjects, 5)
	const noRevision = "protocol revision 2026-07-28."
	for _, c := range []struct {
		in    invariant.Setting
		lacks string
	}{
		{legacy, noRevision},
		{silentLegacy, noRevision},
		{negotiatedDown, noSession},
	} {
		t.Run(c.in.Name, func(t *testing.T) {
			invariant.Run(t, subjects, contractsOf([]row{
				{"Lisbon", "Lisbon", script{"units": {imperial}}, nil, 1, lisbonMetric, completed("Lisbon")},
				{"Springfield", "Springfield", script{"place": {missouri}}, nil, 1, refused("place", c.lacks), nothing},
				{"unknown place", "Atlantis", nil, nil, 1, unknownPlace, nothing},
			}), c.in)
		})
	}
}

// In tools/list, too, nothing but name and description tells one style from
// another, for clients of either era and for those that cannot be asked.
func TestInvariantOfTheDefinitions(t *testing.T) {
	rt, err := mrtr.New(onForcedStore(nil))
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	for _, o := range options.All {
		mcp.AddTool(server, &mcp.Tool{Name: o.Tool(), Description: o.Lesson}, o.New(rt, &options.Audit{}))
	}
	var first []byte
	for _, in := range []invariant.Setting{oneInstance, silentModern, legacy, silentLegacy, negotiatedDown} {
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
func listed(t *testing.T, server *mcp.Server, in invariant.Setting) []map[string]json.RawMessage {
	t.Helper()
	client, err := wire.Connect(t.Context(), server, in.Client)
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
