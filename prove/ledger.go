package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The oracle. A probe is: count, send, settle, count. What has happened in between is held
// against what the person agreed to, whatever any text says.

// effects are how often each thing happened, by its name. A name may carry members: see
// [Subject.Effects].
type effects map[string]int

// grown is how much each count has grown, or fallen where an effect was undone.
func grown(before, after effects) effects {
	if after == nil {
		return nil
	}
	delta := effects{}
	for name, n := range after {
		if was := before[name]; n != was {
			delta[name] = n - was
		}
	}
	return delta
}

// plus adds up two counts.
func plus(a, b effects) effects {
	sum := maps.Clone(a)
	if sum == nil {
		sum = effects{}
	}
	for name, n := range b {
		sum[name] += n
	}
	return sum
}

// plain adds the effects up by their bare names.
func (e effects) plain() effects {
	sum := effects{}
	for name, n := range e {
		bare, _ := membersOf(name)
		sum[bare] += n
	}
	return sum
}

// String names them in order.
func (e effects) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, fmt.Sprintf("%q %s", clean(name), often(e[name])))
	}
	return strings.Join(all, ", ")
}

func often(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// member is a part of an effect's name that says with what it happened.
type member struct{ name, value string }

var spelledMember = regexp.MustCompile(`^([^\s=]*)=(\S*)$`)

// membersOf reads the name of an effect: a word, or several words, behind which there may be
// members, NAME=VALUE with spaces between them or a JSON object. A name that is one member is its
// value's: "charge=5" is a charge of 5.
func membersOf(effect string) (bare string, all []member) {
	if at := strings.IndexByte(effect, '{'); at > 0 {
		var object map[string]any
		if json.Unmarshal([]byte(effect[at:]), &object) == nil {
			for _, name := range slices.Sorted(maps.Keys(object)) {
				all = append(all, member{name, strings.Trim(marshal(object[name]), `"`)})
			}
			return strings.TrimSpace(effect[:at]), all
		}
	}
	var words []string
	for i, word := range strings.Fields(effect) {
		m := spelledMember.FindStringSubmatch(word)
		switch {
		case m == nil:
			words = append(words, word)
		case i == 0:
			words, all = append(words, m[1]), append(all, member{m[1], m[2]})
		default:
			all = append(all, member{m[1], m[2]})
		}
	}
	return strings.Join(words, " "), all
}

// book is what the prover knows of the effects.
type book struct {
	last effects // as they were counted last
	// settle is how long to wait for effects behind an answer: the longest lag that the first
	// calls showed, with a margin.
	settle time.Duration
	stages []effects       // of an honest call, by round: 0 is before anything was asked
	named  effects         // those of a whole one, with their members
	varies map[string]bool // the members that differ between equal calls
	// strays came while no request was on its way, with the rule after which they came.
	strays []string
	// misworded is the first effect that was another one than its question said; nil if none was.
	misworded *misworded
	busy      atomic.Bool // a call was made since the last count
}

// usual are the effects of an honest call, by their bare names.
func (b *book) usual() effects {
	sum := effects{}
	for _, stage := range b.stages {
		sum = plus(sum, stage)
	}
	return sum
}

// margin is the least time to settle.
const margin = 15 * time.Millisecond

// counted is the count of now; nil if nobody counts.
func (t *trial) counted() effects {
	if t.subject.Effects == nil {
		return nil
	}
	n, err := t.subject.Effects(t.ctx)
	if err != nil {
		t.fail("the effects cannot be counted: %v", err)
	}
	return n
}

// counting begins a probe, and says what has happened since when it is asked. An effect that
// came before, of its own, is a stray.
func (t *trial) counting() (since func() effects) {
	if t.subject.Effects == nil {
		return func() effects { return nil }
	}
	t.stray()
	t.happened = effects{}
	return func() effects {
		t.wait(t.settle)
		now := t.counted()
		t.happened = plus(t.happened, grown(t.last, now))
		t.last = now
		t.busy.Store(false)
		return maps.Clone(t.happened)
	}
}

// stray notes what has come since the last count, when nothing was asked for.
func (t *trial) stray() {
	if t.busy.Swap(false) {
		t.wait(t.settle)
		t.last = t.counted()
		return
	}
	now := t.counted()
	if more := grown(t.last, now); len(more) > 0 {
		t.strays = append(t.strays, fmt.Sprintf("%s, after %s", more, t.after))
	}
	t.last = now
}

// forgive leaves out of the probe what happens in f.
func (t *trial) forgive(f func()) {
	if t.subject.Effects == nil {
		f()
		return
	}
	t.wait(t.settle)
	now := t.counted()
	t.happened = plus(t.happened, grown(t.last, now))
	f()
	t.wait(t.settle)
	t.last = t.counted()
}

// reset brings the world around the server back to where calls begin, if somebody said how.
func (t *trial) reset() {
	if t.subject.Reset == nil {
		return
	}
	t.forgive(func() {
		if err := t.subject.Reset(t.ctx); err != nil {
			t.fail("the reset failed: %v", err)
		}
	})
}

func (t *trial) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// watched is how long after f the last effect came, if any came that late, and what came.
func (t *trial) watched(ctx context.Context, within time.Duration) (lag time.Duration) {
	if t.subject.Effects == nil {
		return 0
	}
	began, last := time.Now(), t.counted()
	every := max(within/50, time.Millisecond)
	for time.Since(began) < within && ctx.Err() == nil {
		t.wait(every)
		if now := t.counted(); !maps.Equal(now, last) {
			lag, last = time.Since(began), now
		}
	}
	return lag
}

// undoes matches the names of effects that take another one back, or say that nothing came of
// it. They need no yes, if they cost nothing.
var (
	undoes = regexp.MustCompile(`(?i)undo|undone|revert|releas|refund|roll_?back|void|compensat|restor|declin|refus|reject|cancel|abort|expir|abandon`)
	costs  = regexp.MustCompile(`(?i)fee|charge|pay|paid|cost|penalt|order|bill`)
)

// unexplained says which effect happened more often than it may; "" if none did. Names that no
// honest call has are held to the same, unless they undo or the scenario calls them harmless.
func (t *trial) unexplained(happened, allowed effects) string {
	happened = happened.plain()
	for _, name := range slices.Sorted(maps.Keys(happened)) {
		n, may := happened[name], allowed[name]
		known := t.usual()[name] > 0
		harmless := slices.Contains(t.scenario.Harmless, name) || !known && undoes.MatchString(name) && !costs.MatchString(name)
		switch {
		case n <= may || harmless:
		case may == 0:
			return fmt.Sprintf("%q happened%s", clean(name), map[bool]string{false: " " + often(n)}[n == 1])
		default:
			return fmt.Sprintf("%q happened %s instead of %s", clean(name), often(n), often(may))
		}
	}
	return ""
}

// closely makes many requests in one probe, since each probe waits for effects that come late. If
// too much has happened, it makes them once more, and looks behind each of them.
func (t *trial) closely(probe func(closely bool) (too string)) {
	if probe(false) == "" {
		return
	}
	if too := probe(true); too != "" {
		t.fail("%s, and not behind any one request", too)
	}
}

// onlyAllowed ends the rule if anything has happened that was not allowed.
func (t *trial) onlyAllowed(happened, allowed effects, s exchange, why string) {
	if too := t.unexplained(happened, allowed); too != "" {
		t.failAt(s, "%s %s", too, why)
	}
}

// atTheStart are the effects of an honest call before it asks anything, so many times over.
func (t *trial) atTheStart(calls int) effects { return t.upTo(0, calls) }

// upTo are the effects of an honest call up to a round, so many times over.
func (t *trial) upTo(round, calls int) effects {
	sum := effects{}
	for i := 0; i <= round && i < len(t.stages); i++ {
		for name, n := range t.stages[i] {
			sum[name] += n * calls
		}
	}
	return sum
}
