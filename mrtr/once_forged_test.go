package mrtr_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// The state travels through the client, which may send back anything.
// These three tests are why it is sealed.

// paying charges, then asks, and tells whether it was paid.
func paying(did *deeds) mrtr.Style[tripIn, tripOut] {
	return guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		return mrtr.Once(ctx, c, "charge", did.do("charge"))
	}, "seat")
}

// payingSteps does the same in steps.
func payingSteps(t *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] {
	var list mrtr.Steps[tripIn, tripOut]
	seat := mrtr.AskStep(&list, "seat", func(context.Context, *mrtr.At[tripIn]) (mrtr.Question[string], error) {
		return text("seat"), nil
	})
	charge := mrtr.DoStep(&list, "charge", func(ctx context.Context, _ *mrtr.At[tripIn], idem string) (string, error) {
		return did.do("charge")(ctx, idem)
	})
	list.End(func(_ context.Context, at *mrtr.At[tripIn]) (tripOut, error) {
		return tripOut{Plan: seat.Of(at) + " " + charge.Of(at)}, nil
	})
	style, err := list.Build()
	require.NoError(t, err)
	return style
}

func TestUnsignedStateLetsAClientSkipOnce(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	mrtr.Unsigned(rt)
	tool := newTrip(rt, paying(&did), "")
	forged := `{"v":1,"call":"mine","round":1,"done":[{"kind":"effect","key":"charge","value":"a free ride"}]}`
	asked := tool.round(t.Context(), "", forged, nil)
	require.NoError(t, asked.err)
	last := tool.answer(asked, "window")
	require.NoError(t, last.err)
	require.Equal(t, "a free ride", last.plan)
	require.Zero(t, did.count("charge"), "the client has claimed that it was charged, and was believed")
}

func TestUnsignedStateLetsAClientSkipSteps(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	mrtr.Unsigned(rt)
	tool := newTrip(rt, payingSteps(t, &did), "")
	asked := tool.begin()
	var state struct{ Steps string }
	require.NoError(t, json.Unmarshal([]byte(asked.state), &state))
	forged := strings.Replace(asked.state, `,"pending":`,
		`,"done":[{"kind":"effect","key":"step:charge","value":"a free ride"}],"pending":`, 1)
	last := tool.round(t.Context(), "", forged, accepting(asked, "window"))
	require.NoError(t, last.err)
	require.Equal(t, "window a free ride", last.plan)
	require.Zero(t, did.count("charge"), "the client has claimed that the step was done, and was believed")
}

func TestSealedStateRefusesForgedProgress(t *testing.T) {
	var did deeds
	styles := map[string]mrtr.Style[tripIn, tripOut]{"once": paying(&did), "steps": payingSteps(t, &did)}
	require.NotEmpty(t, styles)
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			unsignedRuntime := newTripRuntime(t, nil)
			mrtr.Unsigned(unsignedRuntime)
			tool := serveTrip(t, style)
			asked := tool.begin()
			charged := did.count("charge")
			plain := newTrip(unsignedRuntime, style, "").begin().state
			plainCharged := did.count("charge") - charged
			done := `"done":[{"kind":"effect","key":"charge","value":"a free ride"},{"kind":"effect","key":"step:charge","value":"a free ride"}]`
			forgeries := map[string]string{
				"plain":                  `{"v":1,"call":"mine","round":1,` + done + `}`,
				"a state of the own":     strings.Replace(plain, `"pending":`, done+`,"pending":`, 1),
				"plain, as base64":       base64.RawURLEncoding.EncodeToString([]byte(`{"v":1,"call":"mine","round":1,` + done + `}`)),
				"a true state, and more": asked.state + done,
				"a true state, cut":      asked.state[:len(asked.state)-1],
			}
			for i := 0; i < len(asked.state); i += 7 {
				b := []byte(asked.state)
				b[i] ^= 1
				forgeries["a true state, a bit turned: "+string(rune('A'+i%26))+string(b[max(0, i-3):i])] = string(b)
			}
			for what, forged := range forgeries {
				last := tool.round(t.Context(), "", forged, accepting(asked, "window"))
				var wire *jsonrpc.Error
				require.ErrorAs(t, last.err, &wire, what)
				require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
				require.Equal(t, "Invalid or expired requestState", wire.Message, "and says no more than that")
			}
			require.Equal(t, charged+plainCharged, did.count("charge"), "no handler was entered")
			require.NoError(t, tool.answer(asked, "window").err, "the true one still opens")
		})
	}
}
