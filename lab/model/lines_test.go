package model

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is a fault of one line, which the tests of a package find.
type line struct {
	file, old, new string // old is there once
	tests          string // of the package, all of them if empty
}

const (
	record   = "mrtr/internal/claim/record.go"
	sighting = "internal/sighting/sighting.go"
	table    = "mrtr/internal/claim/table.go"
	heldTurn = "mrtr/internal/claim/held.go"
	turns    = "mrtr/turn.go"
	notes    = "mrtr/notes.go"
	works    = "mrtr/work.go"
	states   = "mrtr/state.go"
	walking  = "mrtr/steps_run.go"
	resolves = "mrtr/given.go"
)

var lines = []line{
	{file: record, old: `r.fingerprint = ""`, new: `_ = r`},
	{file: record, old: `len(r.effects) == 0`, new: `len(r.effects) >= 0`},
	{file: record, old: `w.Number("cut", r.cutOff)`, new: `w.Number("cut", 0)`},
	{file: record, old: `r.notes = in.Flag("notes")`, new: `r.notes = !in.Flag("notes")`},
	{file: sighting, old: `at <= last.at`, new: `at == last.at`},
	{file: table, old: `r.lease+2*t.Skew`, new: `r.lease+t.Skew`},
	{file: table, old: `> r.lease+2*t.Skew`, new: `> 100*r.lease+2*t.Skew`},
	{file: table, old: `case r.fingerprint != h.turn.Fingerprint && r.fingerprint != "":`, new: `case r.fingerprint == "-":`},
	{file: table, old: `r.status == free && h.fenced`, new: `h == nil`},
	{file: table, old: `!h.turn.Again || !r.notes ||`, new: `!r.notes ||`},
	{file: table, old: `!h.turn.Again || !r.notes ||`, new: `!h.turn.Again ||`},
	{file: table, old: `r.cutOff+1 >= t.MaxAttempts`, new: `r.cutOff >= t.MaxAttempts`},
	{file: table, old: `r.cutOff++`, new: `_ = r`},
	{file: table, old: `			case h.fenced:`, new: `			case h == nil:`},
	{file: heldTurn, old: `h.record.cutOff, h.record.effects, h.at = r.cutOff, r.effects, at`, new: `h.record.cutOff, h.at = r.cutOff, at`},
	{file: table, old: `Held: h, Left: r.effects, TookOver`, new: `Held: h, TookOver`},
	{file: table, old: `TookOver: r.status != free}`, new: `TookOver: true}`},
	{file: table, old: `	if again, err := h.replace(ctx, r, at); again || err != nil {
		return answer, again, err`, new: `	if _, err := h.replace(ctx, r, at); err != nil {
		return answer, false, err`},
	{file: table, old: `		if !t.local {`, new: `		if t != nil {`},
	{file: table, old: `Answer{Unknown: true, Left: r.effects}`, new: `Answer{Unknown: true}`},
	{file: heldTurn, old: `defer h.beat.Reset(h.record.lease / 3)`, new: `_ = h.beat`},
	{file: heldTurn, old: `	h.beat.Reset(h.record.lease / 3)
}

// Note`, new: `}

// Note`},
	{file: heldTurn, old: `	h.beat.Reset(h.record.lease / soon)`, new: `	_ = soon`},
	{file: heldTurn, old: `time.Since(began) <= h.record.lease/2`, new: `time.Since(began) <= h.record.lease`},
	{file: heldTurn, old: `errors.Is(err, store.ErrNotFound) || err == nil && r.holder != h.record.holder`, new: `errors.Is(err, store.ErrNotFound)`},
	{file: heldTurn, old: `errors.Is(err, store.ErrNotFound) || err == nil`, new: `err == nil`},
	{file: heldTurn, old: `err != nil, at < base:`, new: `err != nil:`},
	{file: heldTurn, old: `own, at == base:`, new: `own:`},
	{file: heldTurn, old: `errors.Is(err, store.ErrNotFound) && base == 0`, new: `errors.Is(err, store.ErrNotFound) && base == 1`},
	{file: turns, old: `text = append(text, ended.Error()...)`, new: `_ = ended`, tests: "TestADeclineIsNoCancel"},
	{file: turns, old: `text = append(append(text, p.answer...), 0)`, new: `_ = p.answer`, tests: "TestDuplicatesWithAStore"},
	{file: turns, old: `		cl.held.LetGo(ctx, answer.Left)`, new: `		_ = cl.held`, tests: "TestARefusedRoundLeaves"},
	{file: turns, old: `cl.held.LetGo(ctx, answer.Left)`, new: `cl.held.LetGo(ctx, nil)`, tests: "TestARefusedRoundLeaves"},
	{file: states, old: `(e.unknown || !attempt.unknown)`, new: `e != nil`, tests: "TestDoubtAfterAFailure"},
	{file: walking, old: ` || c.ledger().st.done.hasEffectOn(l.steps[i].key)`, new: ``, tests: "TestATakeoverDoesNotGoBack"},
	{file: notes, old: `entries, open := l.st.done.effectsSince(cl.base), slices.Clone(cl.open)`, new: `entries, open := l.st.done.effectsSince(cl.base), []entry(nil)`, tests: "TestACallThatWasBeingUndone"},
	{file: notes, old: `		if e := entries[end]; e.unknown {`, new: `		if e := entries[end]; e.key == "" {`, tests: "TestDoubt"},
	{file: resolves, old: `open = append(open, unanswered...)`, new: `open = unanswered`, tests: "TestGiven"},
	{file: resolves, old: `			r.asked[g] = asked
`, new: ``, tests: "TestGiven"},
	{file: resolves, old: ` || g.several && strings.HasPrefix(other.key, g.key+".") ||`, new: ` ||`, tests: "TestGiven"},
	{file: works, old: `	if err := rd.target.rt.works.enter(w, &rd.ledger); err != nil {`, new: `	if err := rd.target.rt.works.enter(w, &rd.ledger); w == nil {`, tests: "TestARefusedRoundLeaves"},
}

// Each of these faults of one line, in the claims of turns and in the engine's use of them,
// fails a test. A test that hangs does not count.
func TestFaultsOfOneLineAreFound(t *testing.T) {
	require.NotEmpty(t, lines)
	for _, l := range lines {
		text, err := os.ReadFile(filepath.Join(root, l.file))
		require.NoError(t, err)
		require.Equalf(t, 1, strings.Count(string(text), l.old), "%s in %s", l.old, l.file)
	}
	if !*judgeMutants && os.Getenv("MRTR_NIGHTLY") != "1" {
		t.Logf("%d faults are there to make; build and judge them with -mutants", len(lines))
		return
	}
	for _, l := range lines {
		t.Run(filepath.Base(l.file)+" "+strings.TrimSpace(l.old), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(root, l.file))
			require.NoError(t, err)
			faulty := filepath.Join(t.TempDir(), filepath.Base(l.file))
			require.NoError(t, os.WriteFile(faulty, []byte(strings.Replace(string(text), l.old, l.new, 1)), 0o644))
			began := time.Now()
			test := exec.Command("go", "test", "-trimpath", "-vet=off", "-count=1", "-timeout=2m", "-failfast",
				"-overlay", overlay(t, map[string]string{l.file: faulty}), "-run", l.tests, "./"+filepath.Dir(l.file))
			test.Dir = root
			out, err := test.CombinedOutput()
			require.Errorf(t, err, "no test fails with %s", l.new)
			require.Containsf(t, string(out), "--- FAIL", "it failed otherwise than in a test:\n%s", out)
			t.Logf("found in %.1fs", time.Since(began).Seconds())
		})
	}
}
