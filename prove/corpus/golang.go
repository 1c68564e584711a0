package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mrtr-go/sdk/prove"
)

var golang = &language{
	name: "go",
	command: func() (string, []string, error) {
		dir, err := os.MkdirTemp("", "corpus")
		if err != nil {
			return "", nil, err
		}
		program := filepath.Join(dir, "inviter")
		build := exec.Command("go", "build", "-o", program, "./inviter")
		build.Dir = folder()
		if output, err := build.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("%w\n%s", err, output)
		}
		return program, nil, nil
	},
	designs: []design{
		{name: "mac"}, {name: "pipes"}, {name: "store", singleUse: true}, {name: "zip"}, {name: "roots"}, {name: "varying"}, {name: "stock"}, {name: "restarts"},
	},
	scenario: prove.Scenario{
		Tool: "invite", Arguments: map[string]any{"event": "lunch"}, OtherArguments: map[string]any{"event": "dinner"}, OtherTool: "uninvite",
		Answers: map[string]any{"seats": map[string]any{"seats": 4, "diet": "vegan"}, "sure": true},
	},
	mistakes: []mistake{
		{"unchecked", signed, "state/flipped state/forged"},
		{"covers-half", "mac pipes roots varying restarts", "state/forged state/flipped"},
		{"four-bytes", signed, "state/flipped state/cut state/extended"},
		{"shortest", "pipes", "state/cut state/parts"},
		{"empty-key", "mac pipes roots varying restarts", "state/resigned"},
		{"built-in-key", signed, "state/other-deployment"},
		{"ignored-error", "", "state/garbage state/flipped"},
		{"never-late", "", "state/expired"},
		{"any-user", "", "state/other-principal"},
		{"any-event", "", "state/other-arguments"},
		{"any-tool", "", "state/other-tool"},

		{"deferred", "", "answer/declined answer/cancelled effect/once"},
		{"cancel-only", "", "answer/declined"},
		{"decline-only", "", "answer/cancelled"},
		{"no-is-yes", "", "answer/false"},
		{"default-accepts", "", "answer/bad-action answer/without-content"},
		{"ok-ignored", "", "answer/against-schema answer/not-an-object"},
		{"truncates", "", "answer/against-schema"},
		{"any-seats", "", "answer/against-schema"},
		{"no-least", "", "answer/against-schema"},
		{"any-diet", "", "answer/against-schema"},
		{"only-answer", "", "answer/wrong-key"},
		{"all-contents", "", "answer/extra-keys"},
		{"missing-is-error", "", "answer/missing"},
		{"any-roots", "roots", "answer/wrong-kind answer/bad-action"},

		{"starts-with-answers", "mac pipes store zip varying stock restarts", "round/asked-ahead"},
		{"once-per-state", "store", "round/old-round"},
		{"never-remembers", "store", "round/final-again"},
		{"unlocked", "store", "round/at-once"},

		{"again-invites", "", "effect/asked-again"},
		{"invites-unasked", "", "effect/unasked"},

		{"no-gate", "", "client/capability-missing"},
		{"first-round-only", "", "client/dropped"},
		{"any-elicitation", "mac pipes store zip varying stock restarts", "client/other-mode"},
		{"own-code", "", "client/capability-missing"},

		{"no-kind", "", "result/schema"},
		{"no-message", "mac pipes store zip roots stock restarts", "result/questions"},

		{"latest-call", "", "server/apart"},
		{"shared-variable", "mac pipes zip roots varying stock restarts", "server/apart"},
	},
}

const signed = "mac pipes zip roots varying restarts"
