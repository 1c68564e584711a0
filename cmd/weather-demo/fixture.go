package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mrtr-go/sdk/statecodec"
)

// fixture prepares a server for a proof from outside: states that expire while one
// waits, two callers, and a count of the effects.
type fixture struct {
	ttl     time.Duration
	callers map[string]string // by token
	audited atomic.Int64
}

func (x *fixture) define(f *flag.FlagSet) {
	f.DurationVar(&x.ttl, "ttl", 0, "how long a state is good, such as 2s (default 1h)")
	f.Func("token", "with -http: a user and the bearer token of it, `who=token`; may be repeated. Requests without one of them are refused", func(text string) error {
		user, token, ok := strings.Cut(text, "=")
		if !ok || user == "" || token == "" {
			return errors.New("want WHO=TOKEN")
		}
		if x.callers == nil {
			x.callers = map[string]string{}
		}
		x.callers[token] = user
		return nil
	})
}

func (x *fixture) check(overHTTP bool) error {
	switch {
	case x.callers != nil && !overHTTP:
		return usageError{"serve takes -token with -http only"}
	case x.ttl < 0:
		return usageError{"serve takes no negative -ttl"}
	}
	return nil
}

// state is how the states of the engine are sealed. The clocks of servers whose
// states are good for seconds may not differ by half a minute.
func (x *fixture) state() *statecodec.Options {
	o := &statecodec.Options{TTL: x.ttl}
	if x.ttl > 0 {
		o.Skew = min(statecodec.DefaultSkew, max(time.Millisecond, x.ttl/10))
	}
	return o
}

// guard lets in the callers with a token, if there are any.
func (x *fixture) guard(h http.Handler) http.Handler {
	if x.callers == nil {
		return h
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		user, known := x.callers[token]
		if !known {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour)}, nil
	}
	return auth.RequireBearerToken(verify, nil)(h)
}

// audits tells how many audit lines were written.
func (x *fixture) audits(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]int64{"audit": x.audited.Load()}) // the client may be gone
}
