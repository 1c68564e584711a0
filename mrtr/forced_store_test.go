package mrtr_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// forcedStore is under every runtime of these tests that has none of its own, with
//
//	MRTR_STORE=memory go test ./mrtr
//
// The tests hold with a store too, but for those listed in differsWithStore.
var forcedStore = store.NewMemory(nil)

func isStoreForced() bool { return os.Getenv("MRTR_STORE") == "memory" }

func onForcedStore(t testing.TB, o mrtr.Options) mrtr.Options {
	test, _, _ := strings.Cut(t.Name(), "/")
	switch {
	case !isStoreForced() || o.Store != nil || differsWithStore[test] != "":
		return o
	case o.State != nil && len(o.State.Keys) > 0:
		o.Store = shared{forcedStore}
	default:
		o.Store = forcedStore
	}
	if o.Remember == nil {
		o.Remember = &mrtr.RememberOptions{Patience: 100 * time.Millisecond} // it never waits
	}
	return o
}

// differsWithStore names the tests of behaviour that a store changes, each with the
// difference. They run without one.
var differsWithStore = map[string]string{
	"TestDuplicatesWithoutAStore":                   "duplicates get the result of the first, see TestDuplicatesWithAStore",
	"TestFramesHaveAFreshTokenEachRound":            "a frame keeps its name while its round is asked again, and an old round has its result",
	"TestFramesResumeOnceWhenTwoRetriesRace":        "of two answers to one round the second is refused, and not told that its frame is gone",
	"TestJournalIsWhatAFrameFallsBackTo":            "a second answer to one round is refused",
	"TestIdemDependsOnTheAnswersBeforeTheEffect":    "a second answer to one round is refused",
	"TestAnAnswerThatItsTypeRefusesInAFreshProcess": "a call that was ended by one answer cannot be completed by another",
	"TestStepsNoticeAChangedShape":                  "a round that ran gives its result, whichever handler is there now",
	"TestEventsComeInOrder":                         "the events tell of the claim too, see TestEventsOfRememberedRounds",
}
