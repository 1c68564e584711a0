package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// approvals remember the calls that need no question any more. There is one record for a
// principal and a tool, so that it can be revoked without knowing the arguments. It is sealed:
// whoever writes to the store cannot make one.
type approvals struct {
	Remember
	store    store.Store
	patience time.Duration
	codec    keep.Sealer
	audience string
}

// defaultPatience is that of a store in memory, which has no need for any.
const defaultPatience = time.Second

func (g *Gate) newApprovals() (*approvals, error) {
	m := &approvals{Remember: g.o.Remember, audience: g.audience()}
	if k := durable.Of(g.rt.Keeper()); k != nil {
		m.store, m.patience = k.Records().Store(), k.Records().Patience()
	} else {
		m.store, m.patience = store.NewMemory(nil), defaultPatience
	}
	var err error
	m.codec, err = g.rt.Sealer("gate_approvals", 0, statecodec.MaxMaxToken)
	return m, err
}

// approved is the record: when each call was approved, in milliseconds.
type approved struct {
	Title string           `json:"title,omitempty"` // that the user read: another one is another tool's
	Tool  int64            `json:"tool,omitempty"`  // with any arguments
	Args  map[string]int64 `json:"args,omitempty"`  // by their digest
}

// maxArguments bounds the arguments of a record. The oldest make room.
const maxArguments = 100

// has reports whether a call needs no question. If the store cannot tell, it does need one.
func (m *approvals) has(ctx context.Context, principal string, call *attempt) bool {
	if m == nil || principal == "" {
		return false
	}
	arguments, ok := digest(call.req.Params.Arguments)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	key, err := m.key(ctx, principal, call.tool.Name)
	if err != nil {
		return false
	}
	a, _, err := m.load(ctx, key)
	if err != nil || a.Title != title(call.tool) {
		return false
	}
	at := a.Tool
	if m.PerArguments {
		at = a.Args[arguments]
	}
	return time.Since(time.UnixMilli(at)) < m.For
}

// grant remembers a call. If the store does not take it, the user is asked again next time.
func (m *approvals) grant(ctx context.Context, principal string, call *attempt) {
	arguments, ok := digest(call.req.Params.Arguments)
	if !ok {
		return
	}
	_ = m.change(ctx, principal, call.tool.Name, func(a *approved) {
		now := time.Now().UnixMilli()
		if own := title(call.tool); a.Title != own {
			*a = approved{Title: own}
		}
		if !m.PerArguments {
			a.Tool = now
			return
		}
		for len(a.Args) >= maxArguments {
			delete(a.Args, slices.MinFunc(slices.Collect(maps.Keys(a.Args)), func(x, y string) int { return cmp.Compare(a.Args[x], a.Args[y]) }))
		}
		if a.Args == nil {
			a.Args = map[string]int64{}
		}
		a.Args[arguments] = now
	})
}

// Revoke takes back a principal's lasting approval of a tool: the next call asks again. Calls that
// have begun go on. With a store that serves reads from a replica, a call may still pass for
// as long as the replica lags.
func (g *Gate) Revoke(ctx context.Context, principal, tool string) error {
	if g.approvals == nil || principal == "" {
		return nil
	}
	return g.approvals.change(ctx, principal, tool, func(a *approved) { *a = approved{} })
}

// change writes a record until the store takes it.
func (m *approvals) change(ctx context.Context, principal, tool string, f func(*approved)) error {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	key, err := m.key(ctx, principal, tool)
	if err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause *= 2 {
		a, at, err := m.load(ctx, key)
		if err != nil {
			return err
		}
		f(&a)
		err = m.save(ctx, key, &a, at)
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// load reads a record. One that is not there, or does not open, approves nothing.
func (m *approvals) load(ctx context.Context, key store.Key) (a approved, at store.Revision, err error) {
	sealed, at, err := m.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return a, 0, nil
	}
	if err != nil {
		return a, 0, err
	}
	if value, err := m.codec.Open(statecodec.Binding{Target: key.Name}, string(sealed)); err != nil || json.Unmarshal(value, &a) != nil {
		a = approved{}
	}
	return a, at, nil
}

func (m *approvals) save(ctx context.Context, key store.Key, a *approved, at store.Revision) error {
	value, err := json.Marshal(a)
	if err != nil {
		return err
	}
	sealed, err := m.codec.Seal(statecodec.Binding{Target: key.Name}, value)
	if err != nil {
		return err
	}
	if at == 0 {
		_, err = m.store.Create(ctx, key, []byte(sealed), m.For)
	} else {
		_, err = m.store.Update(ctx, key, at, []byte(sealed), m.For)
	}
	return err
}

// key names the record of a principal and a tool, and tells neither.
func (m *approvals) key(ctx context.Context, principal, tool string) (store.Key, error) {
	epoch, err := m.store.Epoch(ctx)
	sum := sha256.Sum256([]byte(m.audience + strconv.Quote(principal) + strconv.Quote(tool)))
	return store.Key{Epoch: epoch, Name: "gate." + base64.RawURLEncoding.EncodeToString(sum[:])}, err
}

// digest is the same for arguments of one value, in any order. It is false for arguments that
// could be read in two ways.
func digest(arguments json.RawMessage) (string, bool) {
	if statecodec.CheckArguments(arguments) != nil {
		return "", false
	}
	value, ok := decoded(arguments)
	canonical, err := json.Marshal(value)
	if !ok || err != nil {
		return "", false
	}
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:]), true
}
