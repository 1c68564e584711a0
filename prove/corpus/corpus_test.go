package corpus

import (
	"context"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// nightly proves every mistake, and the programs in other languages. Otherwise one mistake in
// sixteen is tried.
var nightly = os.Getenv("MRTR_NIGHTLY") == "1"

// What a verdict of the prover has to be worth.
const (
	leastRecall      = 0.90
	leastRecallAlone = 0.75
	leastMistakes    = 400
	leastCorrect     = 40
)

// The prover condemns the generated mistakes, and no correct design. With MRTR_NIGHTLY=1 and -v
// this prints how many of all.
func TestTheProverIsRight(t *testing.T) {
	all := designs()
	require.GreaterOrEqual(t, len(all), leastCorrect)
	seen := map[string]*steps{}
	for _, d := range all {
		seen[d.name] = &steps{kinds: map[string]string{}}
	}
	correct := proveAll(t, shopsOf(all), true, seen)
	require.Zero(t, tallyOf(correct).condemned, tallyOf(correct).String())

	broken := mistakes(seen, all, 3)
	require.GreaterOrEqual(t, len(broken), leastMistakes)
	alone := shopsOf(all)
	if !nightly {
		broken, alone = oneIn(16, broken), oneIn(4, alone)
	}
	failed := map[string]bool{}
	for able, least := range map[bool]float64{true: leastRecall, false: leastRecallAlone} {
		verdicts := proveAll(t, append(alone, broken...), able, nil)
		sum := tallyOf(verdicts)
		t.Logf("all abilities: %t\n%s", able, sum)
		require.Zero(t, sum.condemned, sum.String())
		require.GreaterOrEqual(t, sum.recall(), least, sum.String())
		for _, v := range verdicts {
			for _, f := range v.decided {
				failed[f.Rule.Name] = true
			}
		}
	}
	if nightly { // a rule that finds nothing is none
		for _, r := range prove.Rules() {
			if r.Level != prove.Ours && !elsewhere[r.Name] {
				require.True(t, failed[r.Name], r.Name)
			}
		}
	}
}

// elsewhere are the rules about what the shop has none of: other tests break them.
var elsewhere = map[string]bool{
	"once/crash": true, "replay/whole-call": true, "once/merged": true, "client/legacy": true,
	"result/output": true, "result/codes": true,
}

func oneIn(n int, all []shopOf) (some []shopOf) {
	for i := range all {
		if i%n == 0 {
			some = append(some, all[i])
		}
	}
	return some
}

func shopsOf(all []design) (shops []shopOf) {
	for _, d := range all {
		shops = append(shops, shopOf{d, change{}})
	}
	return shops
}

// proveAll proves shops side by side, each in a bubble, where time passes at once.
func proveAll(t *testing.T, shops []shopOf, able bool, seen map[string]*steps) []verdict {
	verdicts := make([]verdict, len(shops))
	next := make(chan int)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range next {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					verdicts[i] = shops[i].proved(ctx, able, seen[shops[i].design.name])
				})
			}
		})
	}
	for i := range shops {
		next <- i
	}
	close(next)
	all.Wait()
	return verdicts
}
