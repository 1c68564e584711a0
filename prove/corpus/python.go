package main

import "github.com/mrtr-go/sdk/prove"

// pythonStdio is the same program over stdin and stdout: a process for each connection, so that
// fewer rules are tried.
var pythonStdio = &language{
	name: "python-stdio", command: python.command, stdio: true, scenario: python.scenario, rules: []string{"answer", "client"},
	designs: []design{{name: "sealed"}},
	mistakes: []mistake{
		{"first-8", "", "state/flipped state/cut"},
		{"no-expiry", "", "state/expired"},
		{"same-key", "", "state/other-deployment"},
		{"decline-pays", "", "answer/declined"},
		{"false-pays", "", "answer/false"},
		{"asks-anybody", "", "client/capability-missing"},
		{"charges-each-round", "", "effect/once"},
	},
}

// The designs that can have a mistake.
const (
	sealed   = "sealed jwt hex once random-keys error-decline numbered quoting strict lenient told legacy"
	dotted   = "sealed jwt once random-keys error-decline numbered quoting strict lenient told legacy"
	stateful = "handle " + sealed
	// Keys that a caller knows beforehand.
	fixed = "sealed jwt hex handle once error-decline numbered quoting strict lenient told legacy"
	// A bad state is an error.
	tells = "sealed jwt hex handle once random-keys error-decline numbered quoting strict lenient legacy"
	// No lock is held while it pays.
	unlocked = "sealed jwt hex handle random-keys error-decline numbered quoting strict lenient told legacy stateless"
)

var python = &language{
	name:    "python",
	command: script("python3", "server.py"),
	designs: []design{
		{name: "sealed"}, {name: "jwt"}, {name: "hex"}, {name: "handle", singleUse: true}, {name: "once", singleUse: true},
		{name: "random-keys"}, {name: "error-decline"}, {name: "numbered"}, {name: "quoting"}, {name: "strict"}, {name: "lenient"},
		{name: "told"}, {name: "legacy"}, {name: "stateless"},
	},
	scenario: prove.Scenario{
		Tool: "transfer", Arguments: map[string]any{"to": "Ann", "reference": "rent"}, OtherArguments: map[string]any{"to": "Bob", "reference": "food"},
		OtherTool: "refund",
		Answers:   map[string]any{"amount": map[string]any{"amount": 20, "memo": "June", "speed": "slow"}, "confirm": true},
	},
	mistakes: []mistake{
		{"unverified", sealed, "state/flipped state/forged"},
		{"first-8", sealed, "state/flipped state/cut"},
		{"as-far-as-it-goes", sealed, "state/cut state/parts"},
		{"unsigned-ok", sealed, "state/parts state/cut"},
		{"alg-none", "jwt", "state/parts"},
		{"partly-signed", sealed, "state/forged state/flipped"},
		{"checksum", sealed, "state/resigned"},
		{"weak-key", sealed, "state/resigned"},
		{"same-key", sealed, "state/other-deployment"},
		{"falls-back", dotted, "state/garbage state/cut"},
		{"trims", dotted, "state/extended"},
		{"not-text", dotted, "state/not-text"},
		{"counter-handle", "handle", "state/forged"},
		{"handle-prefix", "handle", "state/cut"},
		{"handle-fold", "handle", "state/flipped"},
		{"forgets-on-bad", "handle", "state/refusal-harmless"},
		{"no-expiry", stateful, "state/expired"},
		{"no-user", stateful, "state/other-principal"},
		{"user-if-any", stateful, "state/other-principal"},
		{"no-args", stateful, "state/other-arguments"},
		{"binds-part", stateful, "state/other-arguments"},
		{"no-tool", stateful, "state/other-tool"},
		{"binds-nothing", stateful, "state/other-arguments state/other-principal state/expired"},

		{"decline-pays", "", "answer/declined"},
		{"cancel-pays", "", "answer/cancelled"},
		{"false-pays", "", "answer/false"},
		{"content-decides", "", "answer/declined answer/cancelled answer/bad-action"},
		{"truthy", "", "answer/against-schema"},
		{"no-minimum", "", "answer/against-schema"},
		{"no-maximum", "", "answer/against-schema"},
		{"coerces", "", "answer/against-schema"},
		{"bool-is-int", "", "answer/against-schema"},
		{"rounds", "", "answer/against-schema"},
		{"any-choice", "", "answer/against-schema"},
		{"any-length", "", "answer/against-schema"},
		{"untyped", "", "answer/against-schema"},
		{"required-default", "", "answer/against-schema answer/without-content"},
		{"empty-default", "", "answer/without-content"},
		{"any-action", "", "answer/bad-action"},
		{"default-action", "", "answer/bad-action"},
		{"null-default", "", "answer/null"},
		{"number-default", "", "answer/not-an-object"},
		{"other-kind", "", "answer/wrong-kind"},
		{"dies", "", "answer/not-an-object answer/null"},
		{"any-key", fixed, "answer/wrong-key"},
		{"key-fold", fixed, "answer/wrong-key"},
		{"prototype", "", "answer/prototype-keys"},
		{"refuses-extras", stateful, "answer/extra-keys"},
		{"merges-extras", stateful, "answer/extra-keys"},
		{"old-answers-again", stateful, "answer/extra-keys"},
		{"list-of-responses", fixed + " stateless", "answer/no-map"},
		{"missing-error", stateful, "answer/missing"},

		{"ahead", fixed, "round/asked-ahead"},
		{"endless", stateful, "round/endless"},
		{"replay", "handle once", "round/final-again"},
		{"race", "once", "round/at-once"},
		{"by-answers", "once", "round/changed-answers"},
		{"by-state", "once", "round/old-round"},
		{"per-instance", "once", "round/elsewhere"},

		{"charges-twice", "", "effect/once"},
		{"charges-each-round", stateful, "effect/once"},
		{"charges-first", stateful, "effect/once"},
		{"charges-before-asking", stateful, "effect/once effect/declined"},
		{"asking-again-pays", stateful, "effect/asked-again"},
		{"refusal-pays", stateful, "effect/refused state/garbage"},
		{"unasked-pays", "", "effect/unasked"},

		{"asks-anybody", "", "client/capability-missing"},
		{"unasked-error", "", "client/capability-missing"},
		{"unnamed", "", "client/capability-named"},
		{"any-mode", "", "client/other-mode"},
		{"gate-once", "", "client/dropped"},
		{"list-varies", "", "client/same-list"},
		{"legacy-leak", "legacy", "client/legacy-leak"},
		{"legacy-empty", "legacy", "client/legacy-full"},
		{"legacy-asks-anybody", "legacy", "client/legacy-silent"},
		{"legacy-decline-pays", "legacy", "client/legacy-declined"},

		{"missing-argument", "", "input/missing"},
		{"argument-type", "", "input/wrong-type"},
		{"unknown-argument", "", "input/unknown"},
		{"no-arguments", "", "input/not-an-object"},
		{"arguments-once", stateful, "input/later-round"},

		{"result-type", "", "result/schema"},
		{"no-result-type", "", "result/schema"},
		{"nested-form", "", "result/questions"},
		{"output", "", "result/output"},
		{"reserved-code", tells, "result/codes"},
		{"internal-error", tells, "result/blame"},
		{"unknown-as-result", "", "result/unknown-tool"},

		{"global-state", stateful, "server/apart"},
		{"racy-global", unlocked, "server/apart"},
	},
}
