package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// listener is an instance of a known caller's, and what it logs.
type listener struct {
	*instance
	seen *both
	log  lockedText
	rt   *mrtr.Runtime
}

// lockedText is written by an instance and read by a test while the instance runs.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newListener(t *testing.T, records *store.Memory, stopsAt string, o *durable.Options) *listener {
	var opts mrtr.Options
	l := &listener{instance: newInstance(records, stopsAt)}
	l.seen = &both{log: observe.Log(slog.New(slog.NewJSONHandler(&l.log, nil)))}
	opts.Listener, opts.Durable = observe.With(l.seen), durable.In(l.instance, o)
	opts.Principal = func(context.Context, mcp.Request) (string, error) { return "anna", nil }
	l.rt = newTripRuntime(t, &opts)
	return l
}

// loud are the records that somebody has to look after: each as "LEVEL kind effect".
func (l *listener) loud(t *testing.T) (records []string) {
	for line := range strings.Lines(l.log.String()) {
		var r struct{ Level, Msg, Name, Effect, Call, Principal string }
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if !slices.Contains([]string{"effect in doubt", "on stop failed", "round taken over", "round of unknown outcome", "round not recorded"}, r.Msg) {
			continue
		}
		require.Equal(t, "trip", r.Name, line)
		require.NotEmpty(t, r.Call, line)
		require.Equal(t, "anna", r.Principal, line)
		records = append(records, strings.TrimSpace(r.Level+" "+r.Msg+" "+r.Effect))
	}
	return records
}

func payIn(style linearStyle, pay func(context.Context, string) (string, error)) tripStyle {
	return style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		ask(s, text("seat"))
		paid, err := mrtr.Once(s.ctx, s.Call, "pay", pay)
		return tripOut{Plan: paid}, err
	}))
}

// dieInPayment lets an instance die when it has paid. It returns the one to which the client
// turns, three times.
func dieInPayment(t *testing.T, opts *durable.Options) *listener {
	records := store.NewMemory(nil)
	first, second := newListener(t, records, afterEffect, opts), newListener(t, records, "", opts)
	serve := func(l *listener) *tripTool {
		pay := func(context.Context, string) (string, error) { l.reach(afterEffect); return "paid", nil }
		return newTrip(l.rt, payIn(linear.Journal[tripIn, tripOut], pay), "")
	}
	dying, living := serve(first), serve(second)
	asked := dying.begin()
	own := first.stopsIn(func() tripReply { return dying.answer(asked, "x") })
	for range 3 {
		ended(t, living.answer(asked, "x").err, mrtr.OutcomeUnknown)
	}
	first.goOn()
	<-own
	return second
}

// Every doubt is one record, with its effect if it has one, the call and the caller: however
// often a client asks again, and whether or not a request waits for it.
func TestEveryDoubtIsToldOnce(t *testing.T) {
	journal := linear.Journal[tripIn, tripOut]
	for name, play := range map[string]func(t *testing.T) (*listener, []string){
		"a coroutine whose client has left, in its effect": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			end, begun := make(chan struct{}), make(chan struct{})
			style := payIn(linear.Coroutine[tripIn, tripOut], func(context.Context, string) (string, error) {
				close(begun)
				<-end
				return "", io.EOF
			})
			tool := &tripTool{rt: l.rt, handler: mrtr.Tool(l.rt, style, &mrtr.HandlerOptions{Unstored: true})}
			asked := tool.begin()
			ctx, hangUp := context.WithCancel(t.Context())
			go func() { <-begun; hangUp() }()
			require.Error(t, tool.round(ctx, "", asked.state, accepting(asked, "x")).err)
			require.Empty(t, l.loud(t))
			close(end)
			synctest.Wait()
			return l, []string{"WARN effect in doubt pay"}
		},
		"a handler that does not end": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			end := make(chan struct{})
			style := mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
				ask(s, text("seat"))
				_, err := mrtr.Once(s.ctx, s.Call, "pay", func(context.Context, string) (string, error) { <-end; return "", io.EOF })
				return tripOut{}, err
			}))
			tool := &tripTool{rt: l.rt, handler: mrtr.Tool(l.rt, style, &mrtr.HandlerOptions{Within: time.Minute})}
			ended(t, tool.answer(tool.begin(), "x").err, mrtr.OutcomeUnknown)
			synctest.Wait()
			told := l.loud(t) // while it still runs
			close(end)
			synctest.Wait()
			require.Equal(t, told, l.loud(t))
			return l, []string{"WARN effect in doubt pay"}
		},
		"an instance that died in an effect, and a client that insists": func(t *testing.T) (*listener, []string) {
			return dieInPayment(t, nil), []string{"WARN round taken over", "WARN effect in doubt pay"}
		},
		"one that died too often": func(t *testing.T) (*listener, []string) {
			return dieInPayment(t, &durable.Options{MaxAttempts: 1}), []string{"WARN effect in doubt pay", "ERROR round of unknown outcome"}
		},
		"one that died while it undid an effect": func(t *testing.T) (*listener, []string) {
			records := store.NewMemory(nil)
			first, second := newListener(t, records, afterEffect, nil), newListener(t, records, "", nil)
			var did, un deeds
			dying, living := newTrip(first.rt, undoing(first.instance, &did, &un)["journal"], ""), newTrip(second.rt, undoing(second.instance, &did, &un)["journal"], "")
			asked := dying.begin()
			own := first.stopsIn(func() tripReply { return dying.round(t.Context(), "", asked.state, declining(asked)) })
			for range 3 {
				require.Error(t, living.round(t.Context(), "", asked.state, declining(asked)).err)
			}
			first.goOn()
			<-own
			return second, []string{"WARN round taken over", "ERROR on stop failed reserve"}
		},
		"a compensation that fails": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			tool := newTrip(l.rt, journal(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				if _, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (string, error) { return "paid", nil }); err != nil {
					return tripOut{}, err
				}
				_, err := linear.Ask(ctx, c, text("seat"))
				return tripOut{}, err
			}).OnStop(undo("pay", func() error { return errors.New("closed") })), "")
			asked := tool.begin()
			for range 2 {
				require.Error(t, tool.round(t.Context(), "", asked.state, declining(asked)).err)
			}
			return l, []string{"ERROR on stop failed pay"}
		},
		"an outcome that the store does not take": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			tool := newTrip(l.rt, payIn(journal, func(context.Context, string) (string, error) { return "paid", nil }), "")
			asked := tool.begin()
			updates := 0
			l.on(func(op operation) error {
				if op.name == "update" {
					if updates++; updates > 1 { // the first notes the effect
						return errors.New("disk full at /var/lib/store")
					}
				}
				return op.Err()
			})
			require.NoError(t, tool.answer(asked, "x").err)
			require.Contains(t, l.log.String(), `"store_error":"disk full at /var/lib/store"`)
			return l, []string{"ERROR round not recorded"}
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			l, want := play(t)
			require.Equal(t, want, l.loud(t), l.log.String())
		})
	}
}
