package replay

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/visit"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Audiences are what two servers try on each other that have one store, one key, and an audience each.
// Nothing that one has sealed or recorded is anything to the other, and what the other tries harms
// nobody.
var Audiences = map[string]Audience{
	"the state of a gate": func(here, there *desk) {
		approval := here.asks(here.plain, "", nil)
		there.refuses(there.asks(there.plain, approval.State, approves(approval, false)).Error)
		require.Equal(here, "room", here.asks(here.plain, approval.State, approves(approval, false)).Asks[0].Key)
	},
	"the state of a tool, in a gate's pass": func(here, there *desk) {
		room := here.approves(here.plain)
		answer := map[string]any{room.Asks[0].Key: accepts(map[string]any{"room": secret})}
		there.refuses(there.asks(there.plain, room.State, answer).Error)
		require.Equal(here, "sure", here.asks(here.plain, room.State, answer).Asks[0].Key)
	},
	"a task": func(here, there *desk) {
		here.waits()
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			_, refused := there.send(method, here.task, here.get().answer("sure"))
			there.refuses(refused)
		}
		close(here.goesOn)
		here.goOn()
		require.Equal(here, "completed", here.settle().Status)
	},
	"a visit": func(here, there *desk) {
		ctx := context.Background()
		here.rooms(here.approves(here.client))
		id := <-here.page
		require.ErrorIs(here, there.visits.Done(ctx, id, "anna", "forged"), visit.ErrNoVisit)
		require.NoError(here, here.visits.Done(ctx, id, "anna", "paid"))
		require.ErrorIs(here, there.visits.Done(ctx, id, "anna", "forged"), visit.ErrNoVisit)
		close(here.goesOn)
		here.goOn()
		require.Contains(here, string(here.settle().raw), "paid")
	},
	"an approval": func(here, there *desk) {
		here.approves(here.plain)
		require.NotEqual(here, "room", there.asks(there.plain, "", nil).Asks[0].Key)
		require.Equal(here, "room", here.asks(here.plain, "", nil).Asks[0].Key)
		require.NoError(here, there.gate.Revoke(context.Background(), "anna", "book"))
		require.Equal(here, "room", here.asks(here.plain, "", nil).Asks[0].Key)
	},
	"an equal call": func(here, there *desk) {
		intent := func(of *desk) string { return of.calls[len(of.calls)-1][:22] } // the id of a call begins with it
		here.asks(here.plain, "", nil)
		first := intent(here)
		there.asks(there.plain, "", nil)
		require.NotEqual(here, first, intent(there))
		here.asks(here.plain, "", nil)
		require.Equal(here, first, intent(here))
	},
	"a record": func(here, there *desk) {
		here.waits()
		there.calls = here.calls
		erased, err := there.erase()
		require.NoError(here, err)
		require.Zero(here, erased)
		erased, err = here.erase()
		require.NoError(here, err)
		require.Greater(here, erased, 3)
	},
}

// Audience is one of them.
type Audience func(here, there *desk)

// Hold plays it.
func (a Audience) Hold(t *testing.T, s store.Store) {
	key := statecodec.GenerateKey()
	a(newDesk(t, keepAll(s), key, "payments", true), newDesk(t, keepAll(s), key, "sandbox", true))
}

// refuses requires that what another server sealed is refused.
func (d *desk) refuses(err error) {
	d.Helper()
	var refused *jsonrpc.Error
	require.ErrorAs(d, err, &refused)
	require.EqualValues(d, jsonrpc.CodeInvalidParams, refused.Code)
}
