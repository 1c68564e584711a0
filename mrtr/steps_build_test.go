package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

func TestStepsBuildRefuses(t *testing.T) {
	var did deeds
	tests := map[string]struct {
		list func(list *tripSteps)
		want string
	}{
		"no end":        {func(list *tripSteps) { mrtr.AskStep(list, "q", asks("q", &did)) }, "mrtr: steps need exactly one End"},
		"two ends":      {func(list *tripSteps) { list.End(ends("a")); list.End(ends("b")) }, "mrtr: steps need exactly one End"},
		"an end of nil": {func(list *tripSteps) { list.End(nil) }, "mrtr: steps need exactly one End"},
		"the same key": {func(list *tripSteps) {
			list.End(ends(""))
			mrtr.AskStep(list, "q", asks("q", &did))
			mrtr.DoStep(list, "q", does("q", &did, 1))
		}, `mrtr: two steps have the key "q"`},
		"no key":          {func(list *tripSteps) { list.End(ends("")); mrtr.AskStep(list, "", asks("", &did)) }, `mrtr: key "": a key has 1 to 64 characters`},
		"a wrong key":     {func(list *tripSteps) { list.End(ends("")); mrtr.DoStep(list, "a b", does("a b", &did, 1)) }, `mrtr: key "a b": only letters, digits, '_', '-' and '.' are allowed`},
		"no question":     {func(list *tripSteps) { list.End(ends("")); mrtr.AskStep[tripIn, tripOut, string](list, "q", nil) }, `mrtr: step "q" has no function`},
		"nothing to do":   {func(list *tripSteps) { list.End(ends("")); mrtr.DoStep[tripIn, tripOut, string](list, "d", nil) }, `mrtr: step "d" has no function`},
		"along with none": {func(list *tripSteps) { list.End(ends("")); mrtr.AskAlso(list, "q", asks("q", &did)) }, `mrtr: step "q" is asked along with none: put it behind an asking step`},
		"along with a doing": {func(list *tripSteps) {
			list.End(ends(""))
			mrtr.DoStep(list, "d", does("d", &did, 1))
			mrtr.AskAlso(list, "q", asks("q", &did))
		}, `mrtr: step "q" is asked along with none: put it behind an asking step`},
		"a type no form has": {func(list *tripSteps) {
			list.End(ends(""))
			mrtr.AskStep(list, "q", func(context.Context, *tripAt) (mrtr.Question[[]int], error) { return mrtr.Question[[]int]{}, nil })
		}, `mrtr: step "q": a form cannot ask for a []int`},
		"a nested form": {func(list *tripSteps) {
			list.End(ends(""))
			mrtr.AskStep(list, "q", func(context.Context, *tripAt) (mrtr.Question[struct{ In tripIn }], error) {
				return mrtr.Question[struct{ In tripIn }]{}, nil
			})
		}, `mrtr: step "q": a form cannot ask for a struct { In mrtr_test.tripIn }`},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list tripSteps
			test.list(&list)
			_, err := list.Build()
			var usage *mrtr.UsageError
			require.ErrorAs(t, err, &usage)
			require.EqualError(t, err, test.want)
			require.PanicsWithError(t, test.want, func() { list.MustBuild() })
		})
	}
}

// A style that was built does not change with its list.
func TestStepsAreBuiltForGood(t *testing.T) {
	var did deeds
	var list tripSteps
	mrtr.DoStep(&list, "d", does("d", &did, 1))
	list.End(ends("first"))
	style := mustBuild(t, &list)
	mrtr.DoStep(&list, "e", does("e", &did, 1))
	require.Equal(t, "first", serveTrip(t, style).begin().plan)
	require.Zero(t, did.count("do e"))
}
