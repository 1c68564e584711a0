package statecodec_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

var fullBinding = statecodec.Binding{
	Method:    "tools/call",
	Target:    "weather_native",
	Arguments: []byte(`{"location":"Springfield"}`),
	Principal: "user-1",
	Audience:  "https://weather.example",
	Session:   "s-1",
}

// testKey is the key whose secret is this byte and its complement, 16 times.
func testKey(b byte) statecodec.Key {
	return must(statecodec.NewKey(bytes.Repeat([]byte{b, ^b}, statecodec.MinSecret/2)))
}

func newCodec(t testing.TB, opts statecodec.Options) *statecodec.Codec {
	t.Helper()
	if opts.Keys == nil {
		opts.Keys = []statecodec.Key{testKey(1)}
	}
	c := must(statecodec.New(&opts))
	return c
}

func requireRefused(t testing.TB, want statecodec.Reason, err error, explanation ...any) {
	t.Helper()
	var refused *statecodec.TokenError
	require.ErrorAs(t, err, &refused, explanation...)
	require.Equal(t, want, refused.Reason(), explanation...)
	require.Equal(t, "Invalid or expired requestState", err.Error(), "the client learns one thing, whatever the reason")
}

// everySetting are the ways of sealing, which must not differ but in the token.
var everySetting = map[string]statecodec.Options{
	"encrypted":                 {},
	"readable":                  {Readable: true},
	"per principal":             {PerPrincipal: true},
	"per session":               {PerSession: true},
	"per principal and session": {PerPrincipal: true, PerSession: true},
	"readable, per principal":   {Readable: true, PerPrincipal: true},
	"with an instance":          {Instance: "eu-2"},
	"readable, with an instance, per session": {Instance: "a", Readable: true, PerSession: true},
}

func TestOpenReturnsWhatWasSealed(t *testing.T) {
	for name, opts := range everySetting {
		t.Run(name, func(t *testing.T) {
			c := newCodec(t, opts)
			for _, size := range []int{0, 1, 2, 3, 15, 16, 17, 1000, 40000} {
				payload := bytes.Repeat([]byte{0xa5}, size)
				token := must(c.Seal(fullBinding, payload))
				opened, err := c.Open(fullBinding, token)
				require.NoError(t, err)
				require.NotNil(t, opened)
				require.Equal(t, payload, append([]byte{}, opened...))
			}
		})
	}
}

func TestOnlyReadableTokensShowTheirPayload(t *testing.T) {
	payload := []byte("the answer is imperial")
	readable := must(newCodec(t, statecodec.Options{Readable: true}).Seal(fullBinding, payload))
	require.Contains(t, string(decodeText(t, readable)), string(payload))
	c := newCodec(t, statecodec.Options{})
	first := must(c.Seal(fullBinding, payload))
	require.NotContains(t, string(decodeText(t, first)), string(payload))
	second := must(c.Seal(fullBinding, payload))
	require.NotEqual(t, first[28:], second[28:], "a nonce was used twice")
}

// The settings apply to sealing. Tokens sealed with other settings still open, so
// that a setting can change while tokens are on their way.
func TestEverySettingOpensEveryOther(t *testing.T) {
	for sealing, sealOpts := range everySetting {
		for opening, openOpts := range everySetting {
			token := must(newCodec(t, sealOpts).Seal(fullBinding, []byte("x")))
			requireOpens(t, newCodec(t, openOpts), token, "sealed %s, opened %s", sealing, opening)
		}
	}
}

func TestTokenOpensForItsBindingAlone(t *testing.T) {
	others := map[string]func(*statecodec.Binding){
		"method":        func(b *statecodec.Binding) { b.Method = "prompts/get" },
		"target":        func(b *statecodec.Binding) { b.Target = "weather_steps" },
		"arguments":     func(b *statecodec.Binding) { b.Arguments = []byte(`{"location":"Lisbon"}`) },
		"no arguments":  func(b *statecodec.Binding) { b.Arguments = nil },
		"principal":     func(b *statecodec.Binding) { b.Principal = "user-2" },
		"no principal":  func(b *statecodec.Binding) { b.Principal = "" },
		"audience":      func(b *statecodec.Binding) { b.Audience = "https://other.example" },
		"session":       func(b *statecodec.Binding) { b.Session = "s-2" },
		"fields moved":  func(b *statecodec.Binding) { b.Method, b.Target = "tools/callw", "eather_native" },
		"fields traded": func(b *statecodec.Binding) { b.Principal, b.Session = b.Session, b.Principal },
	}
	for name, opts := range everySetting {
		c := newCodec(t, opts)
		token := must(c.Seal(fullBinding, []byte("x")))
		for field, change := range others {
			other := fullBinding
			change(&other)
			_, err := c.Open(other, token)
			requireRefused(t, statecodec.ReasonForged, err, "%s: other %s", name, field)

			transplant := must(c.Seal(other, []byte("x")))
			_, err = c.Open(fullBinding, transplant)
			requireRefused(t, statecodec.ReasonForged, err, "%s: from other %s", name, field)
		}
	}
}

func TestPurposesDoNotMix(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	purposes := []*statecodec.Codec{c, c.For("store"), c.For("frame"), c.For("store").For("nested")}
	for i, sealing := range purposes {
		token := must(sealing.Seal(fullBinding, []byte("x")))
		for j, opening := range purposes {
			_, err := opening.Open(fullBinding, token)
			if i == j {
				require.NoError(t, err)
				continue
			}
			requireRefused(t, statecodec.ReasonForged, err, "sealed by %d, opened by %d", i, j)
		}
	}
	token := must(c.For("store").Seal(fullBinding, []byte("x")))
	requireOpens(t, c.For("frame").For("store"), token, "a purpose replaces the one before")
}

func TestRotation(t *testing.T) {
	oldKey, newKey := testKey(1), testKey(2)
	before := newCodec(t, statecodec.Options{Keys: []statecodec.Key{oldKey}})
	announced := newCodec(t, statecodec.Options{Keys: []statecodec.Key{oldKey, newKey}})
	moved := newCodec(t, statecodec.Options{Keys: []statecodec.Key{newKey, oldKey}})
	dropped := newCodec(t, statecodec.Options{Keys: []statecodec.Key{newKey}})

	fromOld := must(before.Seal(fullBinding, []byte("old")))
	fromNew := must(moved.Seal(fullBinding, []byte("new")))
	for _, c := range []*statecodec.Codec{before, announced, moved} {
		opened, err := c.Open(fullBinding, fromOld)
		require.NoError(t, err)
		require.Equal(t, "old", string(opened))
	}
	for _, c := range []*statecodec.Codec{announced, moved, dropped} {
		opened, err := c.Open(fullBinding, fromNew)
		require.NoError(t, err)
		require.Equal(t, "new", string(opened))
	}
	_, err := dropped.Open(fullBinding, fromOld)
	requireRefused(t, statecodec.ReasonUnknownKey, err)
	_, err = before.Open(fullBinding, fromNew)
	requireRefused(t, statecodec.ReasonUnknownKey, err)
}

func TestTokenLivesItsTime(t *testing.T) {
	for lifetime, opts := range map[time.Duration]statecodec.Options{
		10*time.Minute + 20*time.Second:                {TTL: 10 * time.Minute, Skew: 20 * time.Second},
		statecodec.DefaultTTL + statecodec.DefaultSkew: {},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCodec(t, opts)
			token := must(c.Seal(fullBinding, []byte("x")))
			requireOpens(t, c, token)
			time.Sleep(lifetime - time.Millisecond)
			requireOpens(t, c, token, "the last millisecond")
			time.Sleep(time.Millisecond)
			_, err := c.Open(fullBinding, token)
			requireRefused(t, statecodec.ReasonExpired, err)
			_, err = c.For("other").Open(fullBinding, token)
			requireRefused(t, statecodec.ReasonForged, err, "nobody has vouched for the expiry of a forgery")
		})
	}
}

func TestTokenCarriesItsOwnExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := newCodec(t, statecodec.Options{TTL: 24 * time.Hour})
		short := newCodec(t, statecodec.Options{TTL: time.Minute})
		fromLong := must(long.Seal(fullBinding, []byte("x")))
		fromShort := must(short.Seal(fullBinding, []byte("x")))
		time.Sleep(23 * time.Hour)
		requireOpens(t, short, fromLong, "a release with a shorter TTL leaves older tokens alone")
		_, err := long.Open(fullBinding, fromShort)
		requireRefused(t, statecodec.ReasonExpired, err, "nor does a longer one revive them")
	})
}

func TestTokenFromTheFuture(t *testing.T) {
	var token string
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Minute)
		token = must(newCodec(t, statecodec.Options{}).Seal(fullBinding, []byte("x")))
	})
	synctest.Test(t, func(t *testing.T) { // the clock begins anew, a minute behind
		c := newCodec(t, statecodec.Options{Skew: 20 * time.Second})
		time.Sleep(40*time.Second - time.Millisecond)
		_, err := c.Open(fullBinding, token)
		requireRefused(t, statecodec.ReasonFuture, err)
		time.Sleep(time.Millisecond)
		requireOpens(t, c, token, "within the skew")
	})
}

func TestEphemeral(t *testing.T) {
	c := statecodec.NewEphemeral()
	require.True(t, c.Ephemeral())
	require.True(t, c.For("x").Ephemeral())
	require.False(t, newCodec(t, statecodec.Options{}).Ephemeral())
	token := must(c.Seal(fullBinding, nil))
	_, err := statecodec.NewEphemeral().Open(fullBinding, token)
	requireRefused(t, statecodec.ReasonUnknownKey, err)
}

func TestSealMakesNoTokenThatOpenWouldRefuse(t *testing.T) {
	for name, opts := range everySetting {
		opts.MaxToken = 500
		c := newCodec(t, opts)
		sealed := 0
		for size := range 600 {
			token, err := c.Seal(fullBinding, make([]byte, size))
			if err == nil {
				require.LessOrEqual(t, len(token), 500)
				requireOpens(t, c, token, "%s: %d bytes", name, size)
				sealed++
				continue
			}
			var usage *statecodec.UsageError
			require.ErrorAs(t, err, &usage)
			require.ErrorIs(t, err, statecodec.ErrTooLarge)
		}
		require.NotZero(t, sealed)
		require.Less(t, sealed, 500*3/4)
	}
}

func TestLargestTokenThereMayBe(t *testing.T) {
	c := newCodec(t, statecodec.Options{MaxToken: statecodec.MaxMaxToken})
	payload := make([]byte, (statecodec.MaxMaxToken-28-22)/4*3-16-3)
	token := must(c.Seal(fullBinding, payload))
	opened, err := c.Open(fullBinding, token)
	require.NoError(t, err)
	require.True(t, bytes.Equal(payload, opened))
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("no entropy") }

func useRandom(t testing.TB, r io.Reader) {
	previous := rand.Reader
	rand.Reader = r
	t.Cleanup(func() { rand.Reader = previous })
}

func TestBrokenRandomSourceIsOurFault(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	useRandom(t, brokenReader{})
	token, err := c.Seal(fullBinding, []byte("x"))
	var internal *statecodec.InternalError
	require.ErrorAs(t, err, &internal)
	require.ErrorContains(t, err, "no entropy")
	require.Empty(t, token)
}

func TestErrorsAreThreeKindsAtAnyDepth(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	_, err := c.Open(fullBinding, "nonsense")
	var token *statecodec.TokenError
	require.ErrorAs(t, fmt.Errorf("call: %w", err), &token)
	var usage *statecodec.UsageError
	require.NotErrorAs(t, err, &usage)
	_, err = statecodec.New(nil)
	require.ErrorAs(t, fmt.Errorf("start: %w", err), &usage)
	require.NotErrorAs(t, err, &token)
}

func TestOneCodecServesManyGoroutines(t *testing.T) {
	c := newCodec(t, statecodec.Options{PerPrincipal: true, Keys: []statecodec.Key{testKey(1), testKey(2)}})
	var group sync.WaitGroup
	failures := make(chan error, 16)
	for g := range 16 {
		group.Go(func() {
			binding := fullBinding
			binding.Principal = fmt.Sprint("user-", g%5)
			binding.Arguments = fmt.Appendf(nil, `{"b":%d,"a":1}`, g)
			for i := range 100 {
				payload := strings.Repeat(fmt.Sprint(g, ":", i, " "), i)
				token, err := c.Seal(binding, []byte(payload))
				if err == nil {
					var opened []byte
					if opened, err = c.Open(binding, token); err == nil && string(opened) != payload {
						err = fmt.Errorf("goroutine %d opened another's payload", g)
					}
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	require.NoError(t, <-failures)
}

// requireOpens opens a token for the binding that it was sealed for.
func requireOpens(t testing.TB, c *statecodec.Codec, token string, explanation ...any) {
	t.Helper()
	_, err := c.Open(fullBinding, token)
	require.NoError(t, err, explanation...)
}

// Opening behind other bytes leaves those alone, and nothing of the payload elsewhere.
func TestAppendOpen(t *testing.T) {
	for _, readable := range []bool{false, true} {
		c := must(statecodec.New(&statecodec.Options{Ephemeral: true, Readable: readable}))
		for _, size := range []int{0, 1, 16, 100, 2000} {
			payload := bytes.Repeat([]byte{0xa5}, size)
			token := must(c.Seal(statecodec.Binding{Target: "x"}, payload))
			memory := make([]byte, 3000)
			copy(memory, "before")
			opened, err := c.AppendOpen(memory[:6], statecodec.Binding{Target: "x"}, token)
			require.NoError(t, err)
			require.Equal(t, "before"+string(payload), string(opened))
			require.Zero(t, bytes.Count(memory[len(opened):], []byte{0xa5}), "outside of what was returned")

			opened, err = c.AppendOpen(memory[:6], statecodec.Binding{Target: "y"}, token)
			require.Error(t, err)
			require.Equal(t, "before", string(opened))

			allocated := testing.AllocsPerRun(100, func() {
				if _, err := c.AppendOpen(memory[:0], statecodec.Binding{Target: "x"}, token); err != nil {
					panic(err)
				}
			})
			if size <= 100 && !raceEnabled {
				require.Zero(t, allocated, "%d bytes", size)
			}
		}
	}
}
