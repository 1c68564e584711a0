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
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// listener is an instance of a known caller's, and what it logs.
type listener struct {
	*instance
	log lockedText
	rt  *mrtr.Runtime
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
	opts.Listener = observe.With(observe.Log(slog.New(slog.NewJSONHandler(&l.log, nil))))
	opts.Durable = durable.In(l.instance, o)
	opts.Principal = func(context.Context, mcp.Request) (string, error) { return "anna", nil }
	l.rt = kit.TripRuntime(t, &opts)
	return l
}

// loud are the records that somebody has to look after: each as "LEVEL kind effect".
func (l *listener) loud(t *testing.T) (records []string) {
	for line := range strings.Lines(l.log.String()) {
		var r struct{ Level, Msg, Name, Effect, Call, Principal string }
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if !slices.Contains([]string{"effect in doubt", "effect not undone", "round taken over", "round of unknown outcome", "round not recorded"}, r.Msg) {
			continue
		}
		require.Equal(t, "trip", r.Name, line)
		require.NotEmpty(t, r.Call, line)
		require.Equal(t, "anna", r.Principal, line)
		records = append(records, strings.TrimSpace(r.Level+" "+r.Msg+" "+r.Effect))
	}
	return records
}

func payIn(style kit.LinearStyle, pay func(context.Context, string) (string, error)) kit.Style {
	return style(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(s, kit.Text("seat"))
		paid, err := mrtr.Once(s.Ctx, s.Call, "pay", pay)
		return kit.Out{Plan: paid}, err
	}))
}

// dieInPayment lets an instance die when it has paid. It returns the one to which the client
// turns, three times.
func dieInPayment(t *testing.T, opts *durable.Options) *listener {
	records := store.NewMemory(nil)
	first, second := newListener(t, records, afterEffect, opts), newListener(t, records, "", opts)
	serve := func(l *listener) *kit.Trip {
		pay := func(context.Context, string) (string, error) { l.reach(afterEffect); return "paid", nil }
		return kit.NewTrip(l.rt, payIn(linear.Journal[kit.In, kit.Out], pay), "")
	}
	dying, living := serve(first), serve(second)
	asked := dying.Begin()
	own := first.stopsIn(func() kit.Reply { return dying.Answer(asked, "x") })
	for range 3 {
		kit.Ended(t, living.Answer(asked, "x").Err, mrtr.OutcomeUnknown)
	}
	first.goOn()
	<-own
	return second
}

// Every doubt is one record, with its effect if it has one, the call and the caller: however
// often a client asks again, and whether or not a request waits for it.
func TestEveryDoubtIsToldOnce(t *testing.T) {
	journal := linear.Journal[kit.In, kit.Out]
	for name, play := range map[string]func(t *testing.T) (*listener, []string){
		"a coroutine whose client has left, in its effect": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			end, begun := make(chan struct{}), make(chan struct{})
			style := payIn(linear.Coroutine[kit.In, kit.Out], func(context.Context, string) (string, error) {
				close(begun)
				<-end
				return "", io.EOF
			})
			tool := &kit.Trip{Runtime: l.rt, Handler: mrtr.Tool(l.rt, style, &mrtr.HandlerOptions{Unstored: true})}
			asked := tool.Begin()
			ctx, hangUp := context.WithCancel(t.Context())
			go func() { <-begun; hangUp() }()
			require.Error(t, tool.Round(ctx, "", asked.State, kit.Accepting(asked, "x")).Err)
			require.Empty(t, l.loud(t))
			close(end)
			synctest.Wait()
			return l, []string{"WARN effect in doubt pay"}
		},
		"a handler that does not end": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			end := make(chan struct{})
			style := mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("seat"))
				_, err := mrtr.Once(s.Ctx, s.Call, "pay", func(context.Context, string) (string, error) { <-end; return "", io.EOF })
				return kit.Out{}, err
			}))
			tool := &kit.Trip{Runtime: l.rt, Handler: mrtr.Tool(l.rt, style, &mrtr.HandlerOptions{Within: time.Minute})}
			kit.Ended(t, tool.Answer(tool.Begin(), "x").Err, mrtr.OutcomeUnknown)
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
			var did, un kit.Deeds
			dying, living := kit.NewTrip(first.rt, undoing(first.instance, &did, &un)["journal"], ""), kit.NewTrip(second.rt, undoing(second.instance, &did, &un)["journal"], "")
			asked := dying.Begin()
			own := first.stopsIn(func() kit.Reply { return dying.Round(t.Context(), "", asked.State, kit.Declining(asked)) })
			for range 3 {
				require.Error(t, living.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err)
			}
			first.goOn()
			<-own
			return second, []string{"WARN round taken over", "ERROR effect not undone reserve"}
		},
		"a compensation that fails": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			tool := kit.NewTrip(l.rt, journal(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				if _, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (string, error) { return "paid", nil }); err != nil {
					return kit.Out{}, err
				}
				_, err := linear.Ask(ctx, c, kit.Text("seat"))
				return kit.Out{}, err
			}).OnStop(kit.UndoWith("pay", func() error { return errors.New("closed") })), "")
			asked := tool.Begin()
			for range 2 {
				require.Error(t, tool.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err)
			}
			return l, []string{"ERROR effect not undone pay"}
		},
		"an outcome that the store does not take": func(t *testing.T) (*listener, []string) {
			l := newListener(t, store.NewMemory(nil), "", nil)
			tool := kit.NewTrip(l.rt, payIn(journal, func(context.Context, string) (string, error) { return "paid", nil }), "")
			asked := tool.Begin()
			updates := 0
			l.on(func(op operation) error {
				if op.name == "update" {
					if updates++; updates > 1 { // the first notes the effect
						return errors.New("disk full at /var/lib/store")
					}
				}
				return op.Err()
			})
			require.NoError(t, tool.Answer(asked, "x").Err)
			require.Contains(t, l.log.String(), `"store_error":"disk full at /var/lib/store"`)
			l.fail(nil)
			return l, []string{"ERROR round not recorded"}
		},
	} {
		kit.InBubble(t, name, func(t *testing.T) {
			l, want := play(t)
			require.Equal(t, want, l.loud(t), l.log.String())
		})
	}
}

// An effect that failed in an earlier round, and is in doubt in one that is let go of, stays
// in doubt for the request that goes on there.
func TestDoubtAfterAFailureOutlivesItsRound(t *testing.T) {
	outcomes := []error{errors.New("refused"), io.EOF}
	runs := 0
	style := mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		for _, q := range []string{"seat", "pay"} {
			kit.Ask(s, kit.Text(q))
			_, _ = mrtr.Once(s.Ctx, s.Call, "mail", func(context.Context, string) (string, error) {
				runs++
				return "", outcomes[min(runs, 2)-1]
			}, &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) {
				return "", false, errors.New("the post office is closed")
			}})
		}
		return kit.Out{Plan: "done"}, nil
	}))
	tool := kit.NewTrip(kit.TripRuntime(t, withStore(store.NewMemory(nil))), style, "")
	pay := tool.Answer(tool.Begin(), "window")
	require.NoError(t, pay.Err)
	require.Equal(t, 1, runs)
	for range 3 {
		kit.Ended(t, tool.Answer(pay, "yes").Err, mrtr.OutcomeUnknown)
		require.Equal(t, 2, runs, "an effect in doubt does not run again")
	}
}

// An instance dies in an effect, and the one that takes over has questions in other words.
// It does not ask again: the effect may have happened, and stands on the old answer. A Check
// could not find it either, since the idem of the effect would be another.
func TestATakeoverDoesNotGoBackBehindADoubt(t *testing.T) {
	for _, name := range []string{"steps", "journal"} {
		kit.InBubble(t, name, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			serve := func(i *instance, question string) *kit.Trip {
				q := mrtr.Elicit[string]("seat", question)
				pay := func(context.Context, string) (string, error) {
					did.Note("paid")
					i.reach(afterEffect)
					return "paid", nil
				}
				check := &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) { return "", false, nil }}
				var list kit.Steps
				steps.Always(&list, q)
				steps.Do(&list, "pay", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return pay(ctx, idem) }, check)
				list.End(kit.End("done"))
				style := kit.Build(t, &list)
				if name == "journal" {
					style = linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
						kit.Ask(s, q)
						_, err := mrtr.Once(s.Ctx, s.Call, "pay", pay, check)
						return kit.Out{Plan: "done"}, err
					}))
				}
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)})
				return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Version: question})}
			}
			first, second := newInstance(memory, afterEffect), newInstance(memory, "")
			dying, living := serve(first, "Which seat?"), serve(second, "Which of the seats?")
			seat := dying.Begin()
			defer first.goOn()
			first.stopsIn(func() kit.Reply { return dying.Answer(seat, "window") })
			for range 2 {
				e := kit.Ended(t, living.Answer(seat, "window").Err, mrtr.Diverged)
				require.Equal(t, []string{"pay"}, e.Unknown)
			}
			require.Equal(t, 1, did.Count("paid"))
		})
	}
}
