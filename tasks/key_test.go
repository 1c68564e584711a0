package tasks_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// begin sends a first request with a key.
func (c client) begin(key, city string) (s seen, failed *jsonrpc.Error) {
	c.Helper()
	meta := c.Meta()
	meta["idempotencyKey"] = key
	res, err := c.Exchange(context.Background(), wire.Request{Method: "tools/call", Params: map[string]any{
		"_meta": meta, "name": "book", "arguments": trip{city},
	}})
	require.NoError(c, err)
	if res.Error != nil {
		require.ErrorAs(c, res.Error, &failed)
		return s, failed
	}
	require.NoError(c, json.Unmarshal(res.Result, &s))
	return s, nil
}

// Calls with one key are one task, at whichever instance and after its end too.
func TestCallsWithOneKeyAreOneTask(t *testing.T) {
	for name, policy := range map[string]mrtr.TaskPolicy{"at once": atOnce, "late": {After: time.Nanosecond}} {
		t.Run(name, func(t *testing.T) {
			set := setting{style: "once", records: machine{store.NewMemory(nil)}, policy: policy, keys: []statecodec.Key{statecodec.GenerateKey()}, did: &ledger{}}
			here, there := connect(t, newSite(t, set).server), connect(t, newSite(t, set).server)
			first, failed := here.begin("one", "Lisbon")
			require.Nil(t, failed)
			require.NotEmpty(t, first.TaskID)
			for _, c := range []client{here, there} {
				again, failed := c.begin("one", "Lisbon")
				require.Nil(t, failed)
				require.Equal(t, first.TaskID, again.TaskID)
			}
			ended := there.finish(first.TaskID)
			require.Equal(t, "completed", ended.Status)
			require.Equal(t, 1, strings.Count(set.did.all(), "ticket"), set.did.all())
			again, failed := here.begin("one", "Lisbon")
			require.Nil(t, failed)
			require.Equal(t, first.TaskID, again.TaskID)
			require.Equal(t, "completed", again.Status)

			_, failed = there.begin("one", "Porto")
			require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
			other, failed := here.begin("two", "Lisbon")
			require.Nil(t, failed)
			require.NotEqual(t, first.TaskID, other.TaskID)
		})
	}
}
