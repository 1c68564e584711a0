package corpus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

// designs are the correct ways to build the shop.
func designs() (all []design) {
	for _, codec := range []string{"sealed", "jwt", "hex", "handle", "jws-json", "jwe", "paseto", "branca", "cose"} {
		all = append(all, design{codec, codec, ""})
	}
	marks := []string{"words", "stock", "queue", "optional", "occasional", "rate", "rotating", "tells", "decline-error", "nein", "phrase", "keys", "one", "refuses", "grace"}
	for i, mark := range marks {
		all = append(all, design{mark, []string{"sealed", "jwt", "handle"}[i%3], mark})
	}
	for _, both := range []string{"words queue", "stock rate", "optional nein", "occasional words", "rotating queue", "tells nein", "keys words", "grace stock", "refuses queue",
		"one nein", "phrase stock", "decline-error words", "optional keys", "rate rotating", "tells keys", "nein words"} {
		all = append(all, design{strings.ReplaceAll(both, " ", "+"), []string{"jwe", "cose", "sealed", "hex"}[len(all)%4], both})
	}
	return all
}

// shopOf is a shop with a mistake, or without.
type shopOf struct {
	design design
	change change
}

func (s shopOf) String() string { return s.design.name + " " + s.change.String() }

// subject is the shop with every ability, or with a count of its effects alone.
func (s shopOf) subject(able bool, seen *steps) prove.Subject {
	shared := newDeployment()
	process := func(secret string, shared *deployment) *instance {
		return &instance{s.design, s.change, secret, shared, seen}
	}
	dial := func(in func() *instance) prove.Dial {
		return func(_ context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			name := ""
			if who != nil {
				name = who.Name
			}
			return &prove.Endpoint{Transport: in().dial(name)}, nil
		}
	}
	main := process("secret of this run", shared)
	subject := prove.Subject{
		Dial: dial(func() *instance { return main }),
		Effects: func(context.Context) (map[string]int, error) {
			shared.mu.Lock()
			defer shared.mu.Unlock()
			return maps.Clone(shared.effects), nil
		},
	}
	if !able {
		return subject
	}
	stranger := process("another secret", newDeployment())
	subject.First, subject.Other = &prove.Caller{Name: "ann"}, &prove.Caller{Name: "bob"}
	subject.Fresh = dial(func() *instance { return process(main.secret, shared) })
	subject.Stranger = dial(func() *instance { return stranger })
	subject.Expire = func(context.Context) error {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.ahead += 3600
		return nil
	}
	return subject
}

// verdict is what the prover said of a shop.
type verdict struct {
	shop    shopOf
	able    bool
	decided []prove.Finding // the failures that decide the exit status
	all     []prove.Finding
	calls   int
	effects int
	err     error
}

func (s shopOf) proved(ctx context.Context, able bool, seen *steps) verdict {
	scenario := prove.Scenario{Tool: "buy"}
	if able {
		scenario.Arguments, scenario.OtherArguments, scenario.OtherTool = object{"event": "lunch"}, object{"event": "dinner"}, "buy_again"
		scenario.Times = map[string]int{"charge": 1}
	}
	report, err := prove.Run(ctx, s.subject(able, seen), scenario, &prove.Options{Patience: time.Minute})
	v := verdict{shop: s, able: able, err: err}
	if report != nil {
		v.decided, v.all, v.calls = report.Failures(prove.Should), report.Findings, report.Calls
		for _, n := range report.Effects {
			v.effects += n
		}
	}
	return v
}

// tally sums verdicts up.
type tally struct {
	broken, found, stillborn, correct, condemned int
	missed                                       map[string][]string // designs, by the mistake
	accused                                      []string
}

func tallyOf(verdicts []verdict) *tally {
	t := &tally{missed: map[string][]string{}}
	for _, v := range verdicts {
		switch {
		case v.shop.change == change{}:
			t.correct++
			if v.err != nil || len(v.decided) > 0 {
				t.condemned++
				t.accused = append(t.accused, fmt.Sprint(v.shop, " ", v.err, " ", v.decided))
			}
		case v.err != nil: // its author would have seen that
			t.stillborn++
		default:
			t.broken++
			if len(v.decided) > 0 {
				t.found++
				continue
			}
			name := v.shop.change.String()
			t.missed[name] = append(t.missed[name], v.shop.design.name)
		}
	}
	return t
}

func (t *tally) recall() float64 { return float64(t.found) / float64(max(t.broken, 1)) }

func (t *tally) precision() float64 {
	return float64(t.found) / float64(max(t.found+t.condemned, 1))
}

// String has each mistake that was missed, as its step and operator say it.
func (t *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "recall %.1f %% (%d of %d mistakes; in %d more no honest call completes), precision %.1f %% (%d of %d correct designs condemned)\n",
		100*t.recall(), t.found, t.broken, t.stillborn, 100*t.precision(), t.condemned, t.correct)
	for _, name := range slices.Sorted(maps.Keys(t.missed)) {
		fmt.Fprintf(&b, "  missed %s, in %s\n", name, strings.Join(t.missed[name], " "))
	}
	for _, one := range t.accused {
		fmt.Fprintf(&b, "  condemned %s\n", one)
	}
	return b.String()
}
