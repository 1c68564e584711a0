package natsstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mrtr-go/sdk/store"
)

// dueHeader is that of a record which is due some day. For each there is a message in the
// index, whose subject says when: ~due.<hour>.<milliseconds>.<name>. One that the record's
// header does not confirm was left behind, and goes with its time to live.
const dueHeader = "Mrtr-Due"

// Schedule implements [store.Scheduler]. It writes twice.
func (s *Store) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	text := strconv.FormatInt(due.UnixMilli(), 10)
	index := key
	index.Name = dueIndex + strconv.FormatInt(due.Unix()/3600, 10) + "." + text + "." + key.Name
	// The index first: a record without it would be lost to Due.
	if err := s.knows(ctx, key.Epoch); err != nil {
		return 0, failed("write", err)
	}
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: subject(index)},
		jetstream.WithExpectStream(s.opts.Stream), jetstream.WithMsgTTL(s.lifetime(ttl)), jetstream.WithRetryAttempts(0))
	if err != nil && !errors.Is(err, jetstream.ErrNoStreamResponse) { // which the write tells apart
		return 0, failed("write", verdict(err, store.ErrConflict))
	}
	if at == 0 {
		return s.write(ctx, key, 0, value, ttl, store.ErrExists, text)
	}
	return s.write(ctx, key, at, value, ttl, store.ErrConflict, text)
}

// Due implements [store.Scheduler].
func (s *Store) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	epoch, err := s.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := s.js.Stream(ctx, s.opts.Stream)
	if err != nil {
		return nil, failed("due", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(under(epoch)+dueIndex+">"))
	if err != nil {
		return nil, failed("due", err)
	}
	type entry struct {
		due  int64
		text string
		key  store.Key
	}
	var entries []entry
	for subject := range info.State.Subjects {
		parts := strings.SplitN(strings.TrimPrefix(subject, under(epoch)+dueIndex), ".", 3)
		if len(parts) != 3 {
			continue
		}
		if ms, err := strconv.ParseInt(parts[1], 10, 64); err == nil && ms < before.UnixMilli() {
			entries = append(entries, entry{ms, parts[1], store.Key{Epoch: epoch, Name: parts[2]}})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.due, b.due) })
	var keys []store.Key
	for _, e := range entries {
		if len(keys) == n {
			break
		}
		msg, err := s.last(ctx, e.key)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, failed("due", err)
		case msg.Header.Get(dueHeader) == e.text:
			keys = append(keys, e.key)
		}
	}
	return keys, nil
}
