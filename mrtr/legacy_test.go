package mrtr_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// twoQuestions asks units, which has a default, and then a place, which has one
// if the test wants it.
func twoQuestions(placeDefault string) kit.Handler {
	unit := kit.Units.Default("metric")
	place := mrtr.Elicit[string]("place", "Which place?")
	if placeDefault != "" {
		place = place.Default(placeDefault)
	}
	return kit.Guarded(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		u := kit.Ask(s, unit)
		p := kit.Ask(s, place)
		return kit.Output{Said: u + " in " + p}, nil
	})
}

var imperialInPlace = wire.Answers{"units": wire.Value("imperial"), "place": wire.Value("Oslo")}

const (
	noForm     = `This client cannot be asked for "units": it lacks form elicitation.`
	noRevision = `This client cannot be asked for "units": it lacks protocol revision 2026-07-28.`
	noStream   = `This client cannot be asked for "units": it lacks protocol revision 2026-07-28, or a session that can carry a question.`
	noPlace    = `This client cannot be asked for "place": it lacks protocol revision 2026-07-28.`
)

// Under every policy a legacy client gets one complete result: never a round of
// questions, which it would read as an empty success, and never a hang.
func TestPoliciesForLegacyClients(t *testing.T) {
	for _, c := range []struct {
		explanation string
		policy      mrtr.LegacyPolicy
		unaskable   mrtr.UnaskablePolicy
		client      *wire.Options
		defaults    string // the place's default
		text        string // the answer, or the error's text
		fails       bool
		asked       int
	}{
		{"bridge asks", mrtr.LegacyBridge, mrtr.UnaskableInherit, kit.Legacy, "Rome", "imperial in Oslo", false, 2},
		{"the zero policy bridges", mrtr.LegacyInherit, mrtr.UnaskableInherit, kit.Legacy, "Rome", "imperial in Oslo", false, 2},
		{"bridge cannot ask who declared nothing", mrtr.LegacyBridge, mrtr.UnaskableInherit, kit.LegacyMute, "Rome", noForm, true, 0},
		{"bridge cannot ask who was negotiated down", mrtr.LegacyBridge, mrtr.UnaskableInherit, kit.NegotiatedDown, "Rome", noStream, true, 0},

		{"bridge or defaults asks", mrtr.LegacyBridge, mrtr.UnaskableLegacyDefaults, kit.Legacy, "Rome", "imperial in Oslo", false, 2},
		{"or defaults for who declared nothing", mrtr.LegacyBridge, mrtr.UnaskableLegacyDefaults, kit.LegacyMute, "Rome", "metric in Rome", false, 0},
		{"or defaults for who was negotiated down", mrtr.LegacyBridge, mrtr.UnaskableLegacyDefaults, kit.NegotiatedDown, "Rome", "metric in Rome", false, 0},

		{"defaults never ask", mrtr.LegacyNever, mrtr.UnaskableLegacyDefaults, kit.Legacy, "Rome", "metric in Rome", false, 0},
		{"defaults, negotiated down", mrtr.LegacyNever, mrtr.UnaskableLegacyDefaults, kit.NegotiatedDown, "Rome", "metric in Rome", false, 0},
		{"no default to go on with", mrtr.LegacyNever, mrtr.UnaskableLegacyDefaults, kit.Legacy, "", noPlace, true, 0},

		{"refuse", mrtr.LegacyNever, mrtr.UnaskableRefuse, kit.Legacy, "Rome", noRevision, true, 0},
		{"refuse who declared nothing", mrtr.LegacyNever, mrtr.UnaskableRefuse, kit.LegacyMute, "Rome", noRevision, true, 0},
		{"refuse who was negotiated down", mrtr.LegacyNever, mrtr.UnaskableRefuse, kit.NegotiatedDown, "Rome", noStream, true, 0},

		{"rounds, negotiated down", mrtr.LegacyPassThrough, mrtr.UnaskableInherit, kit.NegotiatedDown, "Rome", noStream, true, 0},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			check := func(rt *mrtr.Runtime, opts *mrtr.HandlerOptions) {
				t.Helper()
				client := kit.Connect(t, kit.ServeTool(rt, twoQuestions(c.defaults), opts), c.client)
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				out, err := client.Call(ctx, "tool", map[string]any{}, imperialInPlace)
				require.NoError(t, err)
				require.Nil(t, out.Error)
				require.False(t, out.Incomplete(), "it would read as an empty success")
				require.Equal(t, 1, client.Requests("tools/call"))
				require.Len(t, client.Asked(), c.asked)
				require.Equal(t, c.fails, out.IsError, out.Text)
				if c.fails {
					require.Equal(t, c.text, out.Text)
				} else {
					kit.Said(t, out, c.text)
				}
			}
			rt, _ := kit.NewRuntime(t, &mrtr.Options{Legacy: c.policy, Unaskable: c.unaskable})
			check(rt, nil)
			other, _ := kit.NewRuntime(t, &mrtr.Options{Legacy: mrtr.LegacyNever})
			if c.policy != mrtr.LegacyInherit {
				check(other, &mrtr.HandlerOptions{Legacy: c.policy, Unaskable: c.unaskable})
			}
		})
	}
}

// They are told why, however they are asked: by the engine, in a bridge of the author's, or
// in place. go-sdk names the first property that does not fit, and all that are missing.
func TestLegacyClientsAreToldWhyTheyAreAskedAgain(t *testing.T) {
	type trip struct {
		Days int     `json:"days" maximum:"9"`
		Seat string  `json:"seat"`
		Tags []class `json:"tags,omitempty"`
	}
	plan := mrtr.Elicit[trip]("plan", "Where to?")
	h := kit.Asking(plan, func(p trip) string { return p.Seat })
	over := func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		p, err := plan.AskOver(ctx, c.Session())
		return nil, kit.Output{Said: p.Seat}, err
	}
	ways := map[string]func(rt *mrtr.Runtime) *mcp.Server{
		"engine":   func(rt *mrtr.Runtime) *mcp.Server { return kit.ServeTool(rt, h, nil) },
		"in place": func(rt *mrtr.Runtime) *mcp.Server { return kit.ServeTool(rt, over, nil) },
		"bridge": func(rt *mrtr.Runtime) *mcp.Server {
			server := kit.NewServer()
			mcp.AddTool(server, &mcp.Tool{Name: "tool"}, sse.Bridge(
				mrtr.Tool(rt, mrtr.Native(h), &mrtr.HandlerOptions{Legacy: mrtr.LegacyPassThrough}), nil))
			return server
		},
	}
	fits := `{"action":"accept","content":{"days":3,"seat":"window"}}`
	cases := 0
	for way, serve := range ways {
		for content, note := range map[string]string{
			`{"days":12,"seat":"aisle"}`: "days must be of type integer, at most 9",
			`{"seat":"aisle"}`:           "days must be of type integer, at most 9",
			`{}`:                         "days must be of type integer, at most 9, seat must be of type string. If you saw nothing to fill in, " + showsNoForms,
			`{"days":3,"seat":"validating /properties/tags: x","tags":["sun"]}`: "tags must be a list of the choices",
			`{"days":3,"seat":7}`: "seat must be of type string",
		} {
			cases++
			t.Run(way+"/"+content, func(t *testing.T) {
				rt, seen := kit.NewRuntime(t, nil)
				answers := wire.Answers{"*": wire.InTurn(wire.Raw(`{"action":"accept","content":`+content+`}`), wire.Raw(fits))}
				out := kit.Call(t, kit.Connect(t, serve(rt), kit.Legacy), answers)
				require.Nil(t, out.Error)
				require.False(t, out.IsError, out.Text)
				require.Len(t, out.Questions, 2)
				require.Equal(t, "Where to?\n\nThe answer did not fit: "+note+".", out.Questions[1].Message)
				if way != "in place" {
					refused := seen.Of(observe.AnswerRefused)
					require.Len(t, refused, 1)
					require.Equal(t, "it does not fit", refused[0].Reason)
				}
			})
		}
	}
	require.Equal(t, 3*5, cases)
}

// A handler for legacy clients alone asks over the session, in place.
func TestOneHandlerAVersion(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	old := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		require.False(t, c.Modern())
		v, err := kit.Units.AskOver(ctx, c.Session())
		if err != nil {
			return nil, kit.Output{}, err
		}
		sure, err := mrtr.Confirm("sure", "Really?").AskOver(ctx, c.Session())
		if err != nil {
			return nil, kit.Output{}, err
		}
		if !sure {
			v += ", unsure"
		}
		return nil, kit.Output{Said: "old " + v}, nil
	})
	server := kit.ServeStyle(rt, mrtr.ByVersion(mrtr.Native(kit.Asking(kit.Units, kit.Itself)), old), nil)

	kit.Said(t, kit.Call(t, kit.Connect(t, server, nil), wire.Answers{"units": wire.Value("metric")}), "metric")

	client := kit.Connect(t, server, kit.Legacy)
	kit.Said(t, kit.Call(t, client, wire.Answers{"units": wire.InTurn(wire.Value("kelvin"), wire.Value("metric")), "sure": wire.Value(true)}), "old metric")
	require.Len(t, client.Asked(), 3)
	kit.Said(t, kit.Call(t, client, wire.Answers{"units": wire.Value("metric"), "sure": wire.Decline}), "old metric, unsure")
	for answer, text := range map[string]string{
		`{"action":"decline"}`:                             `Stopped: "units" was declined.`,
		`{"action":"cancel"}`:                              `Stopped: "units" was cancelled.`,
		`{"action":"accept","content":{"units":"kelvin"}}`: `Stopped: "units" was asked 4 times without a usable answer.`,
	} {
		out := kit.Call(t, client, wire.Answers{"units": wire.Raw(answer)})
		kit.FailsWith(t, out, text)
	}
	out := kit.Call(t, kit.Connect(t, server, kit.LegacyMute), nil)
	kit.FailsWith(t, out, noForm)
	out = kit.Call(t, kit.Connect(t, server, kit.NegotiatedDown), nil)
	require.True(t, out.IsError)
}

type wrapping string

func (wrapping) Choices() []mrtr.Choice {
	return []mrtr.Choice{{Value: "box", Title: "A box"}, {Value: "bow", Title: "A bow"}}
}

// parcel is a form with an input of each kind.
type parcel struct {
	To     string     `json:"to" minLength:"2"`
	Floor  int        `json:"floor" minimum:"0" maximum:"99"`
	Weight *float64   `json:"weight,omitempty"`
	Gift   bool       `json:"gift"`
	Wrap   wrapping   `json:"wrap"`
	Extras []wrapping `json:"extras,omitempty"`
}

var (
	whereTo = mrtr.Elicit[parcel]("parcel", "Where to?")
	agreed  = mrtr.Confirm("agreed", "Send it?")
)

// sending is a tool in every style: it asks for a parcel and for a yes, and sends it.
func sending(send func(idem string)) map[string]mrtr.Style[kit.Input, kit.Output] {
	ship := func(p parcel, yes bool) func(context.Context, string) (kit.Output, error) {
		return func(_ context.Context, idem string) (kit.Output, error) {
			send(idem)
			weight := 0.0
			if p.Weight != nil {
				weight = *p.Weight
			}
			return kit.Output{Said: fmt.Sprintf("%s, floor %d, %g kg, gift %t in %s %v: %t", p.To, p.Floor, weight, p.Gift, p.Wrap, p.Extras, yes)}, nil
		}
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		p := kit.Ask(s, whereTo)
		yes := kit.Ask(s, agreed)
		return kit.Once(s, "ship", ship(p, yes)), nil
	})
	var b steps.List[kit.Input, kit.Output]
	to, yes := steps.Always(&b, whereTo), steps.Always(&b, agreed)
	shipped := steps.Do(&b, "ship", func(ctx context.Context, at *steps.At[kit.Input], idem string) (kit.Output, error) {
		return ship(to.Of(at), yes.Of(at))(ctx, idem)
	})
	b.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) { return shipped.Of(at), nil })
	styles["steps"] = b.MustBuild()
	styles["given"] = given.Handler2(given.Always[kit.Input](whereTo), given.Always[kit.Input](agreed),
		func(ctx context.Context, c *mrtr.Call, _ kit.Input, p parcel, yes bool) (kit.Output, error) {
			return mrtr.Once(ctx, c, "ship", ship(p, yes))
		})
	return styles
}

// byName is an operator's list of clients.
func byName(who mcp.Implementation, client era.Client) era.Client {
	switch who.Name + " " + who.Version {
	case "shows no forms 1":
		client.Form = false
	case "declares too little 1":
		client.Form, client.Era, client.Version = true, era.Modern, "9"
	}
	return client
}

var (
	formParcel = wire.Accept(map[string]any{"to": "Ann", "floor": 3, "weight": 2.5, "gift": true, "wrap": "box", "extras": []string{"bow", "box"}})
	emptyForm  = wire.Raw(`{"action":"accept","content":{}}`)
)

// Whatever a client really can, each call ends well or with one true sentence, in both
// eras and in every style.
func TestWhatAClientReallyCan(t *testing.T) {
	const (
		sent      = "Ann, floor 3, 2.5 kg, gift true in box [bow box]: true"
		emptyText = `Stopped: "parcel" was accepted twice with no required field filled in, so this client does not seem to show forms.`
		cannot    = `This client cannot be asked for "parcel": it lacks form elicitation.`
	)
	forms := wire.Answers{"parcel": formParcel, "agreed": wire.Value(true)}
	for _, c := range []struct {
		explanation, name string
		capabilities      wire.Capabilities
		first             wire.Answer // to "parcel", if it is another than the next
		answers           wire.Answers
		text              string
		asked             int // of "parcel"
		missing           bool
	}{
		{"fills in forms", "", wire.Everything, nil, forms, sent, 1, false},
		{"accepts what it does not show", "", wire.Everything, nil, wire.Answers{"parcel": emptyForm}, emptyText, 2, false},
		{"accepts it once", "", wire.Everything, emptyForm, forms, sent, 2, false},
		{"declares nothing", "", wire.Nothing, nil, nil, cannot, 0, true},
		{"is known to show no forms", "shows no forms", wire.Everything, nil, nil, cannot, 0, true},
		{"declares less than the hook says", "declares too little", wire.URLOnly, nil, nil, cannot, 0, true},
	} {
		for _, version := range []string{wire.Modern, wire.Legacy} {
			ships := 0
			styles := sending(func(string) { ships++ })
			require.Len(t, styles, 6)
			for name, style := range styles {
				t.Run(fmt.Sprintf("%s/%s/%s", c.explanation, version, name), func(t *testing.T) {
					ships = 0
					rt, seen := kit.NewRuntime(t, &mrtr.Options{Narrow: byName})
					server := kit.NewServer()
					needs := &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{whereTo}}
					mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, needs))
					client := kit.Connect(t, server, &wire.Options{Version: version, Name: c.name, Capabilities: c.capabilities})
					filled := c.answers["parcel"]
					if c.first != nil {
						filled = wire.InTurn(c.first, filled)
					}
					// A form of several properties has no key over a session.
					out := kit.Call(t, client, wire.Answers{"*": filled, "agreed": c.answers["agreed"]})
					asked := 0
					for _, q := range out.Questions {
						if q.Key != "agreed" {
							asked++
						}
					}
					require.Equal(t, c.asked, asked)
					switch {
					case c.missing && version == wire.Modern:
						kit.RefusedWith(t, out.Error, -32021)
						require.Zero(t, seen.Entries(), "entered though it could not be asked")
					case c.text == sent:
						kit.Said(t, out, sent)
						require.Equal(t, 1, ships)
						return
					default:
						kit.FailsWith(t, out, c.text)
					}
					require.Zero(t, ships)
				})
			}
		}
	}
}

// A legacy client that drops its questions is waited for as long as Options.Bridge says. A
// modern one that does so never calls again: nothing runs meanwhile, and a held handler
// waits for FrameTTL.
func TestALegacyClientThatDropsItsQuestionsIsNotWaitedForForLong(t *testing.T) {
	for name, style := range sending(func(string) { t.Error("sent") }) {
		t.Run(name, func(t *testing.T) {
			rt, _ := kit.NewRuntime(t, &mrtr.Options{Bridge: &sse.BridgeOptions{AnswerTimeout: 20 * time.Millisecond}})
			server := kit.ServeStyle(rt, style, nil)
			out := kit.Call(t, kit.Connect(t, server, kit.Legacy), wire.Answers{"*": wire.Silent, "agreed": wire.Silent})
			require.True(t, out.IsError)
			require.Contains(t, out.Text, "not answered within 20ms")
		})
	}
}

// Code that asks a session by AskOver heeds the hook too, and what a hook breaks is refused.
func TestNarrowReachesAskOverAndItsPanicsAreRefused(t *testing.T) {
	over := func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		p, err := whereTo.AskOver(ctx, c.Session())
		return nil, kit.Output{Said: p.To}, err
	}
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Narrow: byName})
	server := kit.ServeTool(rt, over, nil)
	out := kit.Call(t, kit.Connect(t, server, &wire.Options{Version: wire.Legacy, Name: "shows no forms"}), wire.Answers{"*": formParcel})
	kit.FailsWith(t, out, `This client cannot be asked for "parcel": it lacks form elicitation.`)
	require.Empty(t, out.Questions)

	rt, seen := kit.NewRuntime(t, &mrtr.Options{Narrow: func(mcp.Implementation, era.Client) era.Client { panic("secret") }})
	kit.FailsWith(t, kit.Call(t, kit.Connect(t, kit.ServeTool(rt, over, nil), nil), nil), "The tool failed unexpectedly.")
	require.Len(t, seen.Of(observe.RequestRefused), 1)
	require.Zero(t, seen.Entries())
}

// A style by version has in each era the undos, and the held handlers, of the style that serves it.
func TestEachEraHasItsOwnStyle(t *testing.T) {
	kit.Differs(t, "its store is of other processes, and the frames are here")
	for client, own := range map[*wire.Options]string{nil: "modern", kit.Legacy: "legacy"} {
		t.Run("undone as "+own, func(t *testing.T) {
			var did kit.Deeds
			undo := func(era string) mrtr.Undoing {
				return kit.UndoWith("hold", func() error { did.Note(era); return nil })
			}
			modern := mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Once(s, "hold", did.Do("held"))
				kit.Ask(s, kit.Text("q"))
				return kit.Out{}, nil
			})).OnStop(undo("modern"))
			var list kit.Steps
			hold := steps.Do(&list, "hold", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return did.Do("held")(ctx, idem) })
			steps.Always(&list, kit.Text("q"))
			list.End(kit.End("done"))
			steps.OnStop(&list, hold, func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { did.Note("legacy"); return nil })
			rt, _ := kit.NewRuntime(t, nil)
			server := kit.ServeStyle(rt, mrtr.ByVersion(modern, kit.Build(t, &list)), nil)
			out, err := kit.Connect(t, server, client).Call(t.Context(), "tool", map[string]any{"who": ""}, wire.Answers{"q": wire.Decline})
			require.NoError(t, err)
			require.Contains(t, out.Text, `"hold" was undone.`)
			require.Equal(t, map[string]int{"held": 1, own: 1}, did.Done)
		})
	}
	kit.InBubble(t, "held as long again when asked again", func(t *testing.T) {
		rt, _ := kit.NewRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}})
		asks := kit.Linear(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
			return kit.Output{Said: kit.Ask(s, kit.Text("q"))}, nil
		})
		server := kit.ServeStyle(rt, mrtr.ByVersion(mrtr.Native(kit.Asking(kit.Units, kit.Itself)), linear.Coroutine(asks)), nil)
		client, err := wire.Connect(t.Context(), server, kit.Legacy)
		require.NoError(t, err)
		defer client.Close()
		slow := wire.InTurn(kit.After(40*time.Second, wire.Raw(`{"action":"accept"}`)), kit.After(40*time.Second, wire.Value("Oslo")))
		out, err := client.Call(t.Context(), "tool", map[string]any{}, wire.Answers{"q": slow})
		require.NoError(t, err)
		kit.Said(t, out, "Oslo")
	})
}
