package natsmrtr_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/killed"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/natsmrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// Requests reach another process than the one that holds their frame, which is alive,
// slow, frozen, killed, or killed at work.
func TestForward(t *testing.T) {
	url := runServer(t, &server.Options{}).ClientURL()
	killed.CheckDocs(t, docs, killed.Forward(t, killed.At(url)))
}

// A holder that is cut off from NATS is as good as gone, and one whose connection is
// clogged is given up. The request is answered in bounded time, and an effect that
// happens late does not happen twice.
func TestForwardToAHolderThatIsCutOff(t *testing.T) {
	srv := runServer(t, &server.Options{})
	for _, c := range []struct {
		name string
		cut  func(p *storetest.Proxy) (ends func())
	}{
		{"cut", func(p *storetest.Proxy) func() { p.Cut(); return func() {} }},
		{"clogged on its way", func(p *storetest.Proxy) func() { return p.HoldAnswers() }},
		{"clogged on its way back", func(p *storetest.Proxy) func() { return p.HoldRequests() }},
	} {
		for _, row := range killed.ForwardRows {
			t.Run(c.name+", "+row.Name, func(t *testing.T) {
				proxy := storetest.NewProxy(t, srv.Addr().String())
				behind, direct := connect(t, "nats://"+proxy.Addr()), connect(t, srv.ClientURL())
				opts := &natsmrtr.Options{Stream: streamName(t)}
				all := killed.NewInstances(t)
				all.Forwarder = forwarder(t, behind)
				holder := all.Start(open(t, behind, opts), row, nil)
				all.Forwarder = forwarder(t, direct)
				other := all.Start(open(t, direct, opts), row, nil)
				request, err := holder.Ask(t.Context(), "tea")
				require.NoError(t, err)
				ends := c.cut(proxy)
				began := time.Now()
				a, err := other.Settle(t.Context(), request)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 10*time.Second)
				if row.Name == "coroutine" {
					require.Equal(t, "gone", a.Class)
					require.Empty(t, all.Paid())
				} else {
					require.Equal(t, "ok", a.Class)
					require.Equal(t, []killed.Receipt{a.Receipt}, all.Paid())
				}
				ends()
				time.Sleep(500 * time.Millisecond) // for the messages that were held up
				again, err := other.Settle(t.Context(), request)
				require.NoError(t, err)
				require.LessOrEqual(t, len(all.Paid()), 1)
				if a.Class == "ok" {
					require.Equal(t, a, again)
				}
			})
		}
	}
}

// A message on the subject of an instance is not answered unless it was sealed for it.
func TestForwardDropsForgedMessages(t *testing.T) {
	srv := runServer(t, &server.Options{})
	nc := connect(t, srv.ClientURL())
	all := killed.NewInstances(t)
	f := forwarder(t, nc)
	all.Forwarder = f
	holder := all.Start(open(t, nc, nil), killed.Find("coroutine"), nil)
	request, err := holder.Ask(t.Context(), "tea")
	require.NoError(t, err)
	for _, message := range []string{"", "{}", request.State} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := forwarder(t, nc).Forward(ctx, f.Self(), []byte(message))
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Empty(t, all.Paid())
	a, err := holder.Send(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "ok", a.Class)
}

// An instance that stops takes no message any more, and finishes those that arrived.
func TestForwardDrains(t *testing.T) {
	nc := connect(t, runServer(t, &server.Options{}).ClientURL())
	f, sender := forwarder(t, nc), forwarder(t, nc)
	arrived, release := make(chan struct{}), make(chan struct{})
	stop, err := f.Serve(func(message []byte) []byte {
		close(arrived)
		<-release
		return append([]byte("seen "), message...)
	})
	require.NoError(t, err)
	answered := make(chan string, 1)
	go func() {
		answer, err := sender.Forward(t.Context(), f.Self(), []byte("a"))
		answered <- string(answer) + errorText(err)
	}()
	<-arrived
	stop()
	_, err = sender.Forward(t.Context(), f.Self(), []byte("b"))
	require.ErrorIs(t, err, mrtr.ErrNoInstance)
	close(release)
	require.Equal(t, "seen a", <-answered)
}

// Anybody who can publish can send more than an instance has opened. The rest waits with
// NATS, which bounds it, and not in goroutines.
func TestForwardBoundsWhatItTakesAtOnce(t *testing.T) {
	nc := connect(t, runServer(t, &server.Options{}).ClientURL())
	f := forwarder(t, nc)
	const messages, most = 2000, 256
	var running, peak, handled atomic.Int32
	release := make(chan struct{})
	stop, err := f.Serve(func([]byte) []byte {
		now := running.Add(1)
		for seen := peak.Load(); now > seen && !peak.CompareAndSwap(seen, now); seen = peak.Load() {
		}
		<-release
		running.Add(-1)
		handled.Add(1)
		return nil
	})
	require.NoError(t, err)
	defer stop()
	for range messages {
		require.NoError(t, nc.Publish("mrtr.fwd.shop."+f.Self(), []byte("flood")))
	}
	require.NoError(t, nc.Flush())
	require.Eventually(t, func() bool { return running.Load() >= most }, 30*time.Second, time.Millisecond)
	close(release)
	require.Eventually(t, func() bool { return handled.Load() == messages }, 30*time.Second, time.Millisecond)
	require.EqualValues(t, most, peak.Load())
}

func TestForwarderIsChecked(t *testing.T) {
	srv := runServer(t, &server.Options{})
	var usage *store.UsageError
	for _, fleet := range []string{"", "a.b", "a b", "*", ">"} {
		_, err := natsmrtr.NewForwarder(connect(t, srv.ClientURL()), fleet)
		require.ErrorAs(t, err, &usage)
	}
	_, err := natsmrtr.NewForwarder(nil, "shop")
	require.ErrorAs(t, err, &usage)
	buffering, err := nats.Connect(srv.ClientURL())
	require.NoError(t, err)
	defer buffering.Close()
	_, err = natsmrtr.NewForwarder(buffering, "shop")
	require.ErrorAs(t, err, &usage)
}

func forwarder(t *testing.T, nc *nats.Conn) *natsmrtr.Forwarder {
	t.Helper()
	f, err := natsmrtr.NewForwarder(nc, "shop")
	require.NoError(t, err)
	return f
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
