package storetest

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Each defect is noticed by the rules that stand beside it, at least.
var defects = map[string][]string{
	"a scope that nobody knows":                      {"the scope is one of three"},
	"an epoch for each who asks":                     {"everybody sees one epoch"},
	"the epoch outlives the records":                 {"a wiped store refuses"},
	"the epoch is not checked":                       {"a wiped store refuses", "another store's key is refused"},
	"the epoch is checked once somebody asked":       {"a wiped store refuses"},
	"a read ignores the epoch":                       {"another store's key is refused"},
	"it is believed that it has not gone back":       {"a store that has gone back ends its epoch"},
	"a backup goes on":                               {"a backup that is restored ends the epoch"},
	"it has come nowhere":                            {"a handle knows how far the store has come"},
	"it has come as far in every epoch":              {"a handle knows how far the store has come"},
	"the caller's clock is enough":                   {"one clock that is wrong ends no record"},
	"a record lives from the caller's clock":         {"one clock that is wrong ends no record"},
	"the last is due first":                          {"a record is found when it is due"},
	"all that is due is named":                       {"a record is found when it is due"},
	"a record is due at its time":                    {"a record is found when it is due"},
	"an update stays due":                            {"an update takes a record off its schedule"},
	"schedule creates only":                          {"an update takes a record off its schedule"},
	"an expired record is due":                       {"an expired record is not due"},
	"create replaces":                                {"one creator wins", "one creator wins after an expiry", "a stale revision conflicts", "handles share the records"},
	"a refused create says nothing":                  {"a refused create shows the record"},
	"a refused create shows another record":          {"a refused create shows the record"},
	"a refused create shows an old revision":         {"a refused create shows the record"},
	"a refused create hands out its own value":       {"a refused create shows the record"},
	"update ignores the revision":                    {"one updater wins", "no update is lost", "a stale revision conflicts", "revisions never repeat after an expiry", "handles share the records"},
	"update creates":                                 {"a stale revision conflicts", "a record lives its time"},
	"revisions count a record's writes":              {"revisions never repeat", "revisions never repeat after an expiry", "an interrupted write is done or not done"},
	"a handle has records of its own":                {"handles share the records", "one creator wins"},
	"values are text":                                {"values come back as they were"},
	"values end at a zero":                           {"values come back as they were"},
	"an empty value is none":                         {"values come back as they were"},
	"the caller's value is kept":                     {"a value belongs to whoever holds it"},
	"its own value is handed out":                    {"a value belongs to whoever holds it"},
	"any length is taken":                            {"a value may be as long as the limit and no longer"},
	"a value is cut to the limit":                    {"a value may be as long as the limit and no longer"},
	"the limit is one byte short":                    {"a value may be as long as the limit and no longer"},
	"names are folded":                               {"every name that is allowed is a record of its own"},
	"names are cut":                                  {"every name that is allowed is a record of its own"},
	"any key is taken":                               {"an invalid key is misuse"},
	"records go early":                               {"a record lives its time"},
	"nothing expires":                                {"a record lives its time", "one creator wins after an expiry", "revisions never repeat after an expiry", "an update renews the time"},
	"an update does not renew":                       {"an update renews the time"},
	"the oldest is dropped":                          {"a full store refuses and drops nothing"},
	"there is always room":                           {"a full store refuses and drops nothing"},
	"an update needs room of its own":                {"a full store refuses and drops nothing"},
	"the expired take up room":                       {"expired records make room"},
	"ended contexts are ignored":                     {"an ended context does nothing"},
	"half a value is written when the context ends":  {"an interrupted write is done or not done"},
	"a revision is used twice when the context ends": {"an interrupted write is done or not done"},
	"a deadline means that it exists":                {"an interrupted write is done or not done", "requests that are held up", "answers that are held up"},
	"a deadline means that there is none":            {"an interrupted write is done or not done", "requests that are held up", "answers that are held up"},
	"deadlines are ignored":                          {"requests that are held up", "answers that are held up"},
	"no connection means no record":                  {"a store that cannot be reached knows nothing"},
	"no connection means another store":              {"a store that cannot be reached knows nothing"},
	"wait never returns":                             {"a waiter wakes when the record changes", "no change is missed", "a waiter that is late returns at once", "many wait for one", "a waiter wakes when the record expires"},
	"wait does not look first":                       {"a waiter that is late returns at once"},
	"wait returns at once":                           {"a waiter does not spin"},
	"only the writer's handle wakes":                 {"a waiter wakes when the record changes"},
	"one waiter wakes":                               {"many wait for one"},
	"a sweep removes everything":                     {"a sweep removes what has expired"},
	"a sweep removes nothing":                        {"a sweep removes what has expired"},
	"an expiry wakes nobody":                         {"a waiter wakes when the record expires"},
}

func TestEveryRuleNotices(t *testing.T) {
	byName := map[string]*rule{}
	for i := range rules {
		byName[rules[i].name] = &rules[i]
	}
	noticed := map[string]bool{}
	for defect, names := range defects {
		t.Run(defect, func(t *testing.T) {
			for _, name := range names {
				require.Contains(t, byName, name)
				synctest.Test(t, func(t *testing.T) {
					err := byName[name].verdict(t.Context(), newToy(defect).subject())
					require.Errorf(t, err, "the rule %q did not notice", name)
					require.False(t, errors.As(err, new(notAble)), err)
					t.Logf("%s: %v", name, err)
				})
				noticed[name] = true
			}
		})
	}
	for name, r := range byName {
		require.True(t, noticed[name], "no defect shows that the rule %q notices anything", name)
		require.NotEmpty(t, r.explanation)
	}
	require.Len(t, byName, len(rules), "two rules have one name")
}

func TestASoundStorePasses(t *testing.T) {
	Run(t, func(*testing.T) *Subject { return newToy("").subject() }, &Options{Synctest: true})
}

// A store may come without most of the abilities, and the rules say so. The
// ones that matter most cannot be avoided.
func TestAbilitiesThatAreMissing(t *testing.T) {
	lacking := 0
	for _, r := range rules {
		synctest.Test(t, func(t *testing.T) {
			whole := newToy("").subject()
			err := r.verdict(t.Context(), &Subject{Store: whole.Store, MaxValue: whole.MaxValue, Wipe: whole.Wipe})
			switch {
			case errors.As(err, new(notAble)):
				lacking++
			case r.name == "handles share the records":
				require.ErrorContains(t, err, "has no Another", "a store that says it is shared has to show it")
			default:
				require.NoError(t, err)
			}
		})
	}
	require.Equal(t, 7, lacking)
	incomplete := newToy("").subject()
	incomplete.Wipe = nil
	require.ErrorContains(t, rules[0].verdict(t.Context(), incomplete), "incomplete")
}
