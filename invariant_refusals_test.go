package sdk_test

import (
	"testing"

	"github.com/mrtr-go/sdk/internal/wire"
)

// The clients that cannot be asked: those that declare nothing, of either era,
// and those that asked for 2026-07-28 in a handshake and were negotiated down,
// where the SDK asks nobody.
var (
	silentModern   = setting{name: "client declaring nothing", client: &wire.Options{Capabilities: wire.Nothing}}
	silentLegacy   = setting{name: "old client declaring nothing", client: &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing}}
	negotiatedDown = setting{name: "client negotiated down", client: &wire.Options{Handshake: true}}
)

const (
	noForm     = "form elicitation."
	noRevision = "protocol revision 2026-07-28."
	noSession  = "protocol revision 2026-07-28, or a session that can carry a question."
)

func refused(key, lacks string) ending {
	return stopped(`This client cannot be asked for "` + key + `": it lacks ` + lacks)
}

// A modern client is told by a JSON-RPC error what it would have to declare.
func TestInvariantOfAMissingCapability(t *testing.T) {
	missing := ending{protocolError: `{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`}
	hold(t, allStyles(), refusals(missing, missing), silentModern)
}

// An old one gets what its policy says, which is to ask in every style but
// native: so it is refused, and told what it lacks.
func TestInvariantOfARefusal(t *testing.T) {
	asking := styles("sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal", "await")
	hold(t, asking, refusals(refused("place", noForm), refused("units", noForm)), silentLegacy)
}

// The engine finds out whether a client can be asked when there is something
// to ask. So a refusal at the units is like a no there: it comes after the
// audit where that stands between the questions. A refusal at the place, and
// everything else that asks nothing, leaves nothing in any style.
func refusals(atPlace, atUnits ending) []contract {
	return []contract{
		{"Springfield", at("Springfield"), nil, nil, 1, atPlace, nothing},
		{"Lisbon", at("Lisbon"), nil, nil, 1, atUnits, noUnits("Lisbon")},
		{"unknown place", at("Atlantis"), nil, nil, 1, unknownPlace, nothing},
	}
}

// Native is shown with the policy of defaults. It never asks an old client,
// whatever that declared: metric is the default of the units, and which
// Springfield is meant has none.
func TestInvariantOfTheDefaults(t *testing.T) {
	for _, c := range []struct {
		in    setting
		lacks string
	}{
		{legacy, noRevision},
		{silentLegacy, noRevision},
		{negotiatedDown, noSession},
	} {
		t.Run(c.in.name, func(t *testing.T) {
			hold(t, styles("native"), []contract{
				{"Lisbon", at("Lisbon"), script{"units": {imperial}}, nil, 1, lisbonMetric, completed("Lisbon")},
				{"Springfield", at("Springfield"), script{"place": {missouri}}, nil, 1, refused("place", c.lacks), nothing},
				{"unknown place", at("Atlantis"), nil, nil, 1, unknownPlace, nothing},
			}, c.in)
		})
	}
}

// A client that was negotiated down is refused in every style, with the same
// words whether the engine would ask or the handler itself.
func TestInvariantOfAClientNegotiatedDown(t *testing.T) {
	every := styles("sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal", "await")
	hold(t, every, refusals(refused("place", noSession), refused("units", noSession)), negotiatedDown)
}
