package storetest

import (
	"bytes"
	"fmt"

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
