package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/store"
)

var valueRules = []rule{{
	name:        "values come back as they were",
	explanation: "A value may be empty and may hold any bytes, in a Create and in an Update.",
	check: func(tr *trial) error {
		var every []byte
		for i := range 256 {
			every = append(every, byte(i), 0, byte(255-i))
		}
		for i, value := range [][]byte{nil, {}, {0}, []byte("\x00\x00"), []byte("\r\n"), []byte("1\n2"), {0xff, 0xfe, 0x80}, every, bytes.Repeat(every, 100)} {
			if len(value) > tr.MaxValue {
				continue
			}
			created, updated := fmt.Sprintf("created.%d", i), fmt.Sprintf("updated.%d", i)
			at, err := tr.create(created, string(value))
			if err != nil {
				return err
			}
			if err := tr.holds(tr.Store, tr.key(created), value, at); err != nil {
				return err
			}
			if at, err = tr.create(updated, "something else"); err != nil {
				return err
			}
			at, err = tr.Store.Update(tr.ctx, tr.key(updated), at, value, ttl)
			if err != nil {
				return fmt.Errorf("Update to %s: %w", shown(value), err)
			}
			if err := tr.holds(tr.Store, tr.key(updated), value, at); err != nil {
				return err
			}
		}
		return nil
	},
}, {
	name:        "a value belongs to whoever holds it",
	explanation: "The store keeps no reference to a value it was given, and shares none that it returned.",
	check: func(tr *trial) error {
		given := []byte("one")
		at, err := tr.Store.Create(tr.ctx, tr.key("record"), given, ttl)
		if err != nil {
			return err
		}
		copy(given, "???")
		if err := tr.holds(tr.Store, tr.key("record"), []byte("one"), at); err != nil {
			return fmt.Errorf("after the value given to Create was changed: %w", err)
		}
		given = []byte("two")
		if at, err = tr.Store.Update(tr.ctx, tr.key("record"), at, given, ttl); err != nil {
			return err
		}
		copy(given, "???")
		if err := tr.holds(tr.Store, tr.key("record"), []byte("two"), at); err != nil {
			return fmt.Errorf("after the value given to Update was changed: %w", err)
		}
		got, _, err := tr.Store.Get(tr.ctx, tr.key("record"))
		if err != nil {
			return err
		}
		copy(got, "???")
		if err := tr.holds(tr.Store, tr.key("record"), []byte("two"), at); err != nil {
			return fmt.Errorf("after a value that Get returned was changed: %w", err)
		}
		return nil
	},
}, {
	name:        "a value may be as long as the limit and no longer",
	explanation: "A value of MaxValue bytes is stored whole. One byte more is ErrTooLarge, and changes nothing.",
	check: func(tr *trial) error {
		longest := bytes.Repeat([]byte("0123456789abcde\x00"), tr.MaxValue/16+1)[:tr.MaxValue]
		tooLong := append(bytes.Clone(longest), 'x')
		at, err := tr.create("created", string(longest))
		if err != nil {
			return err
		}
		if err := tr.holds(tr.Store, tr.key("created"), longest, at); err != nil {
			return err
		}
		_, err = tr.Store.Create(tr.ctx, tr.key("another"), tooLong, ttl)
		if err := want("Create with one byte too many", err, store.ErrTooLarge); err != nil {
			return err
		}
		if _, _, err = tr.Store.Get(tr.ctx, tr.key("another")); err == nil {
			return fmt.Errorf("the record that was refused is there")
		}
		if at, err = tr.create("updated", "short"); err != nil {
			return err
		}
		_, err = tr.Store.Update(tr.ctx, tr.key("updated"), at, tooLong, ttl)
		if err := want("Update with one byte too many", err, store.ErrTooLarge); err != nil {
			return err
		}
		if err := tr.holds(tr.Store, tr.key("updated"), []byte("short"), at); err != nil {
			return err
		}
		at, err = tr.Store.Update(tr.ctx, tr.key("updated"), at, longest, ttl)
		if err != nil {
			return fmt.Errorf("Update with the longest value: %w", err)
		}
		return tr.holds(tr.Store, tr.key("updated"), longest, at)
	},
}}

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
	name:        "an invalid key is misuse",
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
