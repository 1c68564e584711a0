package mrtr_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// post carries messages between the runtimes of a test, and can lose them.
type post struct {
	mu       sync.Mutex
	boxes    map[string]func([]byte) []byte
	messages [][]byte
	silent   bool // messages arrive nowhere, and nobody says so
}

type box struct {
	*post
	name string
}

func (p *post) box() *box { return &box{p, rand.Text()} }

func (b *box) Self() string { return b.name }

func (b *box) Serve(handle func([]byte) []byte) (stop func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.boxes == nil {
		b.boxes = map[string]func([]byte) []byte{}
	}
	b.boxes[b.name] = handle
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.boxes, b.name)
	}, nil
}

func (b *box) Forward(ctx context.Context, to string, message []byte) ([]byte, error) {
	b.mu.Lock()
	handle, silent := b.boxes[to], b.silent
	b.messages = append(b.messages, bytes.Clone(message))
	b.mu.Unlock()
	switch {
	case silent:
		<-ctx.Done()
		return nil, ctx.Err()
	case handle == nil:
		return nil, fmt.Errorf("%w: %s", mrtr.ErrNoInstance, to)
	}
	return handle(message), nil
}

// forwarded are two instances with a store and a post, and what their tools did.
type forwarded struct {
	post       post
	did        deeds
	runtimes   [2]*mrtr.Runtime
	tools      [2]*tripTool
	forwards   []string // the reasons why a message was not taken, "" if it was
	forwarding sync.Mutex
}

func newForwarded(t *testing.T, style func(*deeds) mrtr.Style[tripIn, tripOut], opts *mrtr.HandlerOptions) *forwarded {
	f := &forwarded{}
	s := shared{store.NewMemory(nil)}
	for i := range f.tools {
		f.runtimes[i] = newTripRuntime(t, &mrtr.Options{Store: s, Forwarder: f.post.box(), Observer: f})
		f.tools[i] = &tripTool{handler: mrtr.Tool(f.runtimes[i], style(&f.did), opts)}
	}
	return f
}

func (f *forwarded) Observe(_ context.Context, e mrtr.Event) {
	if e.Kind == mrtr.RoundForwarded {
		f.forwarding.Lock()
		defer f.forwarding.Unlock()
		f.forwards = append(f.forwards, e.Reason)
	}
}

func coroutineTrip(did *deeds) mrtr.Style[tripIn, tripOut] { return mrtr.Coroutine(holdAndPay(did)) }
func resumableTrip(did *deeds) mrtr.Style[tripIn, tripOut] { return mrtr.Resumable(holdAndPay(did)) }

// A round that reaches another instance than its frame goes on where that is, with its
// principal and its answers, and both get the result.
func TestARoundIsForwardedToItsFrame(t *testing.T) {
	for _, c := range []struct {
		explanation string
		style       func(*deeds) mrtr.Style[tripIn, tripOut]
		opts        *mrtr.HandlerOptions
		forwards    []string
	}{
		{"a coroutine", coroutineTrip, nil, []string{"", ""}},
		{"a resumable that is forwarded", resumableTrip, &mrtr.HandlerOptions{Forwarded: true}, []string{"", ""}},
		{"a resumable replays", resumableTrip, nil, nil},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			f := newForwarded(t, c.style, c.opts)
			seat := f.tools[0].begin()
			pay := f.tools[1].answer(seat, "window")
			require.Equal(t, []string{"pay"}, pay.asks)
			want := tripReply{plan: "window yes"}
			require.Equal(t, want, f.tools[1].answer(pay, "yes"))
			require.Equal(t, want, f.tools[0].answer(pay, "yes"))
			require.Equal(t, want, f.tools[1].answer(pay, "yes"))
			require.Equal(t, 1, f.did.count("held"))
			require.Equal(t, 1, f.did.count("paid"))
			if c.forwards == nil {
				require.Empty(t, f.forwards)
			} else {
				require.Equal(t, c.forwards, f.forwards[:min(2, len(f.forwards))])
				require.Zero(t, mrtr.CountFrames(f.runtimes[1]), "it ran where its frame was")
			}
		})
	}
}

// An answer that does not fit is asked for again by any instance, and costs no frame.
func TestAskingAgainElsewhereKeepsTheFrame(t *testing.T) {
	f := newForwarded(t, coroutineTrip, nil)
	seat := f.tools[0].begin()
	again := f.tools[1].round(t.Context(), "", seat.state, nil)
	require.NoError(t, again.err)
	require.Equal(t, []string{"seat"}, again.asks)
	pay := f.tools[1].answer(again, "window")
	require.Equal(t, tripReply{plan: "window yes"}, f.tools[1].answer(pay, "yes"))
}

// A decline reaches the frame too, which is unwound.
func TestADeclineIsForwarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForwarded(t, coroutineTrip, nil)
		seat := f.tools[0].begin()
		require.Equal(t, 1, mrtr.CountFrames(f.runtimes[0]).Parked)
		reply := f.tools[1].round(t.Context(), "", seat.state, declining(seat))
		require.ErrorContains(t, reply.err, "declined")
		synctest.Wait()
		require.Zero(t, mrtr.CountFrames(f.runtimes[0]))
	})
}

// Where the instance is gone, code that can replays, and other code says that its frame
// is gone.
func TestAFrameWhoseInstanceIsGone(t *testing.T) {
	for _, c := range []struct {
		style    func(*deeds) mrtr.Style[tripIn, tripOut]
		opts     *mrtr.HandlerOptions
		replayed bool
	}{
		{coroutineTrip, nil, false},
		{resumableTrip, &mrtr.HandlerOptions{Forwarded: true}, true},
	} {
		f := newForwarded(t, c.style, c.opts)
		seat := f.tools[0].begin()
		require.NoError(t, f.runtimes[0].Close())
		pay := f.tools[1].answer(seat, "window")
		require.Equal(t, []string{"the instance is gone"}, f.forwards)
		if !c.replayed {
			ended(t, pay.err, mrtr.FrameGone)
			continue
		}
		require.Equal(t, tripReply{plan: "window yes"}, f.tools[1].answer(pay, "yes"))
	}
}

// An instance that does not answer is waited for as long as an operation of the store.
// The frame is not lost: the same request goes through when it answers again.
func TestAnInstanceThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForwarded(t, coroutineTrip, nil)
		seat := f.tools[0].begin()
		f.post.silent = true
		began := time.Now()
		ended(t, f.tools[1].answer(seat, "window").err, mrtr.FrameGone)
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Equal(t, []string{"the instance does not answer"}, f.forwards)
		f.post.silent = false
		pay := f.tools[1].answer(seat, "window")
		require.Equal(t, tripReply{plan: "window yes"}, f.tools[1].answer(pay, "yes"))
		require.Equal(t, 1, f.did.count("held"))
	})
}

// A request can be longer than a message may be. It is not sent, and the frame waits
// for one that reaches its instance.
func TestALongRequestIsNotForwarded(t *testing.T) {
	f := newForwarded(t, coroutineTrip, nil)
	who := strings.Repeat("x", 700<<10)
	seat := f.tools[0].round(t.Context(), who, "", nil)
	there := f.tools[1].round(t.Context(), who, seat.state, accepting(seat, "window"))
	ended(t, there.err, mrtr.FrameGone)
	require.Equal(t, []string{"the request is too long to be forwarded"}, f.forwards)
	require.Empty(t, f.post.messages)
	pay := f.tools[0].round(t.Context(), who, seat.state, accepting(seat, "window"))
	require.Equal(t, []string{"pay"}, pay.asks)
}

// Messages are for one instance, and nobody without the keys can make, alter or read
// one.
func TestForgedMessagesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForwarded(t, coroutineTrip, nil)
		seat := f.tools[0].begin()
		f.post.silent = true
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_ = f.tools[1].round(ctx, "", seat.state, accepting(seat, "window"))
		require.Len(t, f.post.messages, 1)
		message := f.post.messages[0]
		require.NotContains(t, string(message), "window")
		holder, other := mrtr.TakeForwarded(f.runtimes[0]), mrtr.TakeForwarded(f.runtimes[1])
		require.Nil(t, other(message), "it is for the other one")
		for i := range message {
			forged := bytes.Clone(message)
			forged[i] ^= 1
			require.Nil(t, holder(forged))
		}
		require.Nil(t, holder(nil))
		require.Zero(t, f.did.count("held"))
		require.Equal(t, "resumed", string(holder(message)))
		synctest.Wait()
		require.Equal(t, "unknown", string(holder(message)), "the frame has gone on")
		f.post.silent = false
		require.Equal(t, []string{"pay"}, f.tools[1].answer(seat, "window").asks)
		require.Equal(t, 1, f.did.count("held"))
	})
}

// Closing an instance ends the forwarded rounds that run there: their handlers are
// cancelled, and the request that was forwarded is answered.
func TestClosingEndsForwardedRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paying := make(chan struct{})
		f := newForwarded(t, func(*deeds) mrtr.Style[tripIn, tripOut] {
			return mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				if _, err := mrtr.Ask(ctx, c, text("pay")); err != nil {
					return tripOut{}, err
				}
				return mrtr.Once(ctx, c, "pay", func(ctx context.Context, _ string) (tripOut, error) {
					close(paying)
					<-ctx.Done()
					return tripOut{}, ctx.Err()
				})
			})
		}, nil)
		pay := f.tools[0].begin()
		reply := make(chan tripReply, 1)
		go func() { reply <- f.tools[1].answer(pay, "yes") }()
		<-paying
		began := time.Now()
		require.NoError(t, f.runtimes[0].Close())
		require.Zero(t, time.Since(began), "it did not wait for a deadline")
		require.Error(t, (<-reply).err)
		require.Less(t, time.Since(began), 30*time.Second)
	})
}

func TestForwarderOptionsAreChecked(t *testing.T) {
	var usage *mrtr.UsageError
	_, err := mrtr.New(&mrtr.Options{Forwarder: (&post{}).box()})
	require.ErrorAs(t, err, &usage)
	for _, name := range []string{"", "a.b", "a b", "ä"} {
		opts := withStore(store.NewMemory(nil))
		opts.Forwarder = &box{&post{}, name}
		_, err = mrtr.New(opts)
		require.ErrorAsf(t, err, &usage, "%q", name)
	}
}
