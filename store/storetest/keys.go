package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/store"
)

var keyRules = []rule{{
	name:        "every name that is allowed is a record of its own",
	explanation: "Names differ in each character and in case. A name that begins like another, with or without a dot, is another.",
	check: func(tr *trial) error {
		names := []string{
			"a", "A", "b", "a.b", "a.b.c", "a.c", "ab", "a-b", "a_b", "-", "_", "-.-", "0", "00", "a.0", "null", "NULL", "CON",
			"epoch", "Epoch", "revision", "_epoch", "ABCDEFGHIJKLMNOPQRSTUVWXYZ.abcdefghijklmnopqrstuvwxyz.0123456789-_",
			strings.Repeat("x", store.MaxName), strings.Repeat("x", store.MaxName-1), strings.Repeat("x", store.MaxName-1) + "X",
			strings.Repeat("x.", (store.MaxName-1)/2) + "x", tr.epoch,
		}
		revisions := map[string]store.Revision{}
		for _, name := range names {
			at, err := tr.create(name, "value of "+name)
			if err != nil {
				return err
			}
			revisions[name] = at
		}
		for _, name := range names {
			if err := tr.holds(tr.Store, tr.key(name), []byte("value of "+name), revisions[name]); err != nil {
				return err
			}
		}
		return nil
	},
}, {
	name:        "what is no key is misuse",
	explanation: "A key or a time to live outside the documented ranges is a *store.UsageError, and nothing is written.",
	check: func(tr *trial) error {
		bad := []struct {
			key store.Key
			ttl time.Duration
		}{
			{tr.key(""), ttl}, {tr.key("."), ttl}, {tr.key(".a"), ttl}, {tr.key("a."), ttl}, {tr.key("a..b"), ttl},
			{tr.key("a b"), ttl}, {tr.key("a*"), ttl}, {tr.key("a.>"), ttl}, {tr.key("a/b"), ttl}, {tr.key("a\x00"), ttl},
			{tr.key("é"), ttl}, {tr.key(strings.Repeat("x", store.MaxName+1)), ttl},
			{store.Key{Epoch: "", Name: "a"}, ttl}, {store.Key{Epoch: "a.b", Name: "a"}, ttl},
			{store.Key{Epoch: strings.Repeat("x", 65), Name: "a"}, ttl},
			{tr.key("a"), 0}, {tr.key("a"), -time.Second}, {tr.key("a"), store.MinTTL - 1}, {tr.key("a"), store.MaxTTL + 1},
		}
		var usage *store.UsageError
		for _, b := range bad {
			if _, err := tr.Store.Create(tr.ctx, b.key, nil, b.ttl); !errors.As(err, &usage) {
				return fmt.Errorf("Create %+v for %v: %v, which is no *store.UsageError", b.key, b.ttl, err)
			}
			if _, err := tr.Store.Update(tr.ctx, b.key, 1, nil, b.ttl); !errors.As(err, &usage) {
				return fmt.Errorf("Update %+v for %v: %v, which is no *store.UsageError", b.key, b.ttl, err)
			}
			if b.ttl != ttl {
				continue
			}
			if _, _, err := tr.Store.Get(tr.ctx, b.key); !errors.As(err, &usage) {
				return fmt.Errorf("Get %+v: %v, which is no *store.UsageError", b.key, err)
			}
			if w, ok := tr.Store.(store.Watcher); ok {
				if err := w.Wait(tr.ctx, b.key, 1); !errors.As(err, &usage) {
					return fmt.Errorf("Wait %+v: %v, which is no *store.UsageError", b.key, err)
				}
			}
		}
		if _, err := tr.create("a", "a"); err != nil {
			return err
		}
		return nil
	},
}}
