package sdk_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
)

// The settings in which the styles are called.
var (
	oneInstance = &mrtrtest.Options{}
	// fresh is the hardest load balancer: no two rounds of a call reach the
	// same instance, and each instance is stopped before the next one starts.
	fresh = &mrtrtest.Options{FreshInstances: true}
	// legacy is a client that makes one tools/call and is asked over its
	// connection while that call is open. It never calls again, so it takes the
	// first reply for the result.
	legacy = &mrtrtest.Options{Era: mrtrtest.Legacy}

	// The clients that cannot be asked: those that declare no capability, and
	// those that offered 2026-07-28 in a handshake and were negotiated down,
	// whom go-sdk does not ask.
	silentModern   = &mrtrtest.Options{Capabilities: mrtrtest.Nothing}
	silentLegacy   = &mrtrtest.Options{Era: mrtrtest.Legacy, Capabilities: mrtrtest.Nothing}
	negotiatedDown = &mrtrtest.Options{Era: mrtrtest.NegotiatedDown}
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
	mrtrtest.Alike(t, allStyles(), modernContracts(), oneInstance)
	require.Len(t, orderStyles(), len(options.All)+1, "every style, and resumable")
	mrtrtest.Alike(t, orderStyles(), orderContracts(), oneInstance)
}

// Every style but the coroutine goes on at any instance, and its client sees
// the same messages as with one instance.
func TestInvariantAcrossInstances(t *testing.T) {
	anywhere := append(styles("native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "journal"), resumable())
	mrtrtest.Alike(t, anywhere, modernContracts(), fresh)
	mrtrtest.Alike(t, []mrtrtest.Subject{resumable()}, modernContracts(), oneInstance)

	orders := slices.DeleteFunc(orderStyles(), func(s mrtrtest.Subject) bool { return s.Name == "coroutine" })
	require.Len(t, orders, len(options.All))
	mrtrtest.Alike(t, orders, orderContracts(), fresh)

	for _, c := range modernContracts() {
		one, err := mrtrtest.Play(t.Context(), styles("native")[0].Build, c.Script, oneInstance)
		require.NoError(t, err)
		many, err := mrtrtest.Play(t.Context(), styles("native")[0].Build, c.Script, fresh)
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
				mrtrtest.Alike(t, []mrtrtest.Subject{coroutine}, []mrtrtest.Contract{c}, fresh)
				return
			}
			lost++
			saw, err := mrtrtest.Play(t.Context(), coroutine.Build, c.Script, fresh)
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
	mrtrtest.Alike(t, styles(askingLegacy...), legacyContracts(), legacy)
	require.NotEmpty(t, legacyOrderContracts())
	mrtrtest.Alike(t, orderStyles(), legacyOrderContracts(), legacy)
}

// A modern client that lacks a capability gets a JSON-RPC error that names it.
func TestInvariantOfAMissingCapability(t *testing.T) {
	missing := mrtrtest.Ending{ProtocolError: `{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`}
	mrtrtest.Alike(t, allStyles(), refusals(missing), silentModern)
}

// A legacy client that lacks a capability gets an error result that names it,
// since the policy of these styles is to ask.
func TestInvariantOfARefusal(t *testing.T) {
	mrtrtest.Alike(t, styles(askingLegacy...), refusals(refused("units", "form elicitation.")), silentLegacy)
}

// A client that was negotiated down is refused with the same words in every
// style, whether the engine would ask it or the handler itself.
func TestInvariantOfAClientNegotiatedDown(t *testing.T) {
	mrtrtest.Alike(t, styles(askingLegacy...), refusals(refused("units", noSession)), negotiatedDown)
}

const noSession = "protocol revision 2026-07-28, or a session that can carry a question."

// Under the policy of defaults the engine never asks a legacy client, whatever the
// client declared. The default of the units is metric; place has none. The three
// styles that ask by themselves are not under a policy of the engine.
func TestInvariantOfTheDefaults(t *testing.T) {
	var subjects []mrtrtest.Subject
	for _, o := range options.All {
		switch o.Name {
		case "native", "once", "steps", "coroutine", "journal":
			subjects = append(subjects, subjectUnder(mrtr.LegacyDefaults, o.Name, effectAt[o.Name], o.New))
		}
	}
	require.Len(t, subjects, 5)
	const noRevision = "protocol revision 2026-07-28."
	for _, c := range []struct {
		in    *mrtrtest.Options
		lacks string
	}{
		{legacy, noRevision},
		{silentLegacy, noRevision},
		{negotiatedDown, noSession},
	} {
		t.Run(c.in.String(), func(t *testing.T) {
			mrtrtest.Alike(t, subjects, contractsOf([]row{
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
