package durable_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/store"
)

// The fates of the server of a round, when it has paid and the effect has not ended.
const (
	serverStays  = "stays"
	serverDies   = "dies"
	serverWakes  = "stands still, and wakes"
	serverDrains = "drains"
)

// The clients that send their request again in the effect.
const (
	againAtOnce   = "sends again at once"
	againThere    = "sends again elsewhere"
	cancels       = "cancels"
	staysAndWaits = "stays"
)

// What becomes of a payment by the style, how its function ended, what the client did, and
// what the server did, with another instance on the same store. In each cell there is one
// payment at most, the last answer is true of the ledger, and the call can go on to it. The
// page has the table.
func TestOutcomesOverInstances(t *testing.T) {
	servers := []string{serverStays, serverDies, serverWakes, serverDrains}
	clients := append(slices.Clone(hangUpPlaces), staysAndWaits, againAtOnce, againThere, cancels)
	styles := slices.Sorted(maps.Keys(payers(nil)))
	table := "| the effect | the server " + strings.Join(servers, " | ") + " |\n|---|" + strings.Repeat("---|", len(servers)) + "\n"
	var rows kit.Rows
	cells := 0
	for _, end := range slices.Sorted(maps.Keys(effectEnds)) {
		line := ""
		for _, server := range servers {
			seen := map[string]int{}
			for _, style := range styles {
				for _, client := range clients {
					cells++
					synctest.Test(t, func(t *testing.T) { seen[playInstances(t, style, end, client, server)]++ })
				}
			}
			line += " " + strings.Join(slices.Sorted(maps.Keys(seen)), ", ") + " |"
			t.Log(end, server, seen)
		}
		rows.Add(end, line)
	}
	require.Equal(t, 700, cells)
	table += rows.By(", ")
	doc, err := os.ReadFile("../../docs/what-can-happen-twice.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), "\n\n"+table+"\n", "the table in docs/what-can-happen-twice.md must be what was measured:\n%s", table)
}

// playInstances returns how often was paid, and the last answer.
func playInstances(t *testing.T, style, end, client, server string) string {
	where := strings.Join([]string{style, end, client, server}, "/")
	place := client
	switch client {
	case againAtOnce, againThere, cancels:
		place = "in the effect"
	}
	stops := afterEffect
	if server == serverStays {
		stops = ""
	}
	memory := store.NewMemory(nil)
	one, two := newInstance(memory, stops), newInstance(memory, "")
	here := newBank(end, newMeeting(place))
	here.paying = func() { one.reach(afterEffect) }
	there := &bank{ledger: here.ledger, end: end, meet: newMeeting("")}
	rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(one, nil)})
	first, other := kit.NewTrip(rt, payers(here)[style], ""), kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(two, nil)}), payers(there)[style], "")

	asked := first.Begin()
	require.NoError(t, asked.Err, where)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	replies := make(chan kit.Reply, 3)
	send := func(ctx context.Context, tool *kit.Trip) {
		go func() { replies <- tool.Round(ctx, "", asked.State, kit.Accepting(asked, "yes")) }()
	}
	sent := 1
	send(ctx, first)
	left := false
	leave := func() {
		if left || client == staysAndWaits {
			return
		}
		left = true
		hangUp()
		switch client {
		case againAtOnce:
			sent++
			send(t.Context(), first)
		case againThere:
			sent++
			send(t.Context(), other)
		}
		close(here.meet.gone)
	}
	synctest.Wait()
	select {
	case <-here.meet.here:
		leave()
		synctest.Wait()
	default:
	}
	drained := make(chan error, 1)
	select {
	case <-one.stopped:
		leave()
		if server == serverDrains {
			go func() { drained <- rt.Drain(t.Context()) }()
			synctest.Wait()
			one.goOn()
		}
	default: // it stays, or has not come there
	}
	at := other
	if server == serverStays && client != againThere {
		at = first
	}
	last := settle(t, at, asked, where)
	answer := fmt.Sprintf("%d %s", here.payments(), answerIn(last))
	isTrue := func(reply kit.Reply) {
		t.Helper()
		require.LessOrEqual(t, here.payments(), 1, where)
		switch said := answerIn(reply); {
		case said == "ok" || said == "applied":
			require.Equal(t, 1, here.payments(), where)
		case said == "error" && reply.Err.Error() != context.Canceled.Error() && !isRetryable(reply.Err):
			require.Zero(t, here.payments(), "%s: %v", where, reply.Err)
		}
	}
	isTrue(last)
	if one.frozen.Load() {
		one.goOn()
	}
	for range sent {
		isTrue(<-replies)
	}
	require.LessOrEqual(t, here.payments(), 1, where)
	isTrue(settle(t, other, asked, where))
	return answer
}

// settle sends a request until it is told more than to send it again.
func settle(t *testing.T, tool *kit.Trip, asked kit.Reply, where string) (reply kit.Reply) {
	for range 20 {
		if reply = tool.Answer(asked, "yes"); reply.Err == nil || !isRetryable(reply.Err) {
			return reply
		}
		time.Sleep(5 * time.Second)
	}
	require.FailNow(t, "it is stuck", "%s: %v", where, reply.Err)
	return reply
}

func isRetryable(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code == -31001
}
