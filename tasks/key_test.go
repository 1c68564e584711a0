package tasks_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
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

// Calls with one key are one task, at whichever instance, at once and after its end too.
func TestCallsWithOneKeyAreOneTask(t *testing.T) {
	set := setting{style: "once", records: machine{store.NewMemory(nil)}, policy: atOnce, keys: []statecodec.Key{statecodec.GenerateKey()}, did: &ledger{}}
	here, there := connect(t, newSite(t, set).server), connect(t, newSite(t, set).server)
	ids := make(chan string, 8)
	var all sync.WaitGroup
	for i := range cap(ids) {
		all.Go(func() {
			s, _ := []client{here, there}[i%2].begin("one", "Lisbon")
			ids <- s.TaskID
		})
	}
	all.Wait()
	close(ids)
	id := <-ids
	require.NotEmpty(t, id)
	for other := range ids {
		require.Equal(t, id, other)
	}
	require.Equal(t, "completed", there.finish(id).Status)
	require.Equal(t, 1, strings.Count(set.did.all(), "ticket"), set.did.all())
	again, failed := here.begin("one", "Lisbon")
	require.Nil(t, failed)
	require.Equal(t, id, again.TaskID)
	require.Equal(t, "completed", again.Status)

	_, failed = there.begin("one", "Porto")
	require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
	other, failed := here.begin("two", "Lisbon")
	require.Nil(t, failed)
	require.NotEqual(t, id, other.TaskID)
}

// A key stands for a task or for a call that is none, whichever client comes first with it.
func TestAKeyIsThatOfATaskOrOfNone(t *testing.T) {
	set := setting{style: "once", records: machine{store.NewMemory(nil)}, policy: atOnce, keys: []statecodec.Key{statecodec.GenerateKey()}, did: &ledger{}}
	server := newSite(t, set).server
	raw, err := wire.Connect(t.Context(), server, &wire.Options{Capabilities: wire.FormOnly})
	require.NoError(t, err)
	t.Cleanup(func() { raw.Close() })
	takes, plain := connect(t, server), client{t, raw}
	for key, order := range map[string][2]client{"one": {takes, plain}, "two": {plain, takes}} {
		for range 2 {
			_, failed := order[0].begin(key, "Lisbon")
			require.Nil(t, failed, "%v", failed)
			_, failed = order[1].begin(key, "Lisbon")
			require.NotNil(t, failed)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, failed.Code)
			require.Contains(t, failed.Message, "key")
		}
	}
}
