package storetest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mrtr-go/sdk/store"
)

var limitRules = []rule{{
	name:        "a full store refuses and drops nothing",
	explanation: "A store without room answers ErrFull to a Create. It keeps every record, as a record that was dropped would let its round run again, and it takes an Update that needs no more room.",
	lacks: func(s *Subject) string {
		if s.Small == nil {
			return "limit of its own (Small)"
		}
		return ""
	},
	check: func(tr *trial) error {
		s := tr.Small()
		epoch, err := s.Epoch(tr.ctx)
		if err != nil {
			return err
		}
		value := bytes.Repeat([]byte("1"), 1<<10)
		var revisions []store.Revision
		name := func(i int) store.Key { return store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d", i)} }
		for {
			at, err := s.Create(tr.ctx, name(len(revisions)), value, ttl)
			if errors.Is(err, store.ErrFull) {
				break
			}
			if err != nil {
				return fmt.Errorf("Create %d: %w, instead of ErrFull", len(revisions), err)
			}
			if revisions = append(revisions, at); len(revisions) == 100 {
				return errors.New("it has taken a hundred records")
			}
		}
		if len(revisions) < 2 {
			return fmt.Errorf("it was full after %d records", len(revisions))
		}
		_, err = s.Create(tr.ctx, name(0), value, ttl)
		if err := want("Create of a record that is there", err, store.ErrExists); err != nil {
			return err
		}
		for i, at := range revisions {
			if err := tr.holds(s, name(i), value, at); err != nil {
				return err
			}
			other := bytes.Repeat([]byte("2"), len(value))
			at, err := s.Update(tr.ctx, name(i), at, other, ttl)
			if err != nil {
				return fmt.Errorf("Update that needs no more room: %w", err)
			}
			if err := tr.holds(s, name(i), other, at); err != nil {
				return err
			}
		}
		return nil
	},
}, {
	name:        "what expires makes room",
	explanation: "A full store takes records again when others have expired.",
	lacks: func(s *Subject) string {
		if s.Small == nil {
			return "limit of its own (Small)"
		}
		return ""
	},
	check: func(tr *trial) error {
		s := tr.Small()
		epoch, err := s.Epoch(tr.ctx)
		if err != nil {
			return err
		}
		for turn := range 2 {
			err, n := error(nil), 0
			for ; err == nil && n < 100; n++ {
				key := store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d.%d", turn, n)}
				_, err = s.Create(tr.ctx, key, make([]byte, 1<<10), store.MinTTL)
			}
			if err := want(fmt.Sprintf("Create of record %d", n), err, store.ErrFull); err != nil {
				return err
			}
			if n < 2 {
				return fmt.Errorf("filled for the %d. time, it took nothing", turn+1)
			}
			tr.sleep(store.MinTTL + tr.Slack)
		}
		return nil
	},
}}
