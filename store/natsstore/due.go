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
// header does not confirm was left behind. Due retires it: it would have to be judged at each look.
const dueHeader = "Mrtr-Due"

// scheduling bounds the two writes of Schedule, so that an entry which is older has its record.
const scheduling = 30 * time.Second

// Schedule implements [store.Scheduler]. It writes twice.
func (s *Store) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, scheduling)
	defer cancel()
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

// Due implements [store.Scheduler]. If its time is over it returns what it has found so far.
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
		due     int64
		text    string
		key     store.Key
		subject string
	}
	var entries []entry
	for subject := range info.State.Subjects {
		parts := strings.SplitN(strings.TrimPrefix(subject, under(epoch)+dueIndex), ".", 3)
		if len(parts) != 3 {
			continue
		}
		if ms, err := strconv.ParseInt(parts[1], 10, 64); err == nil && ms < before.UnixMilli() {
			entries = append(entries, entry{ms, parts[1], store.Key{Epoch: epoch, Name: parts[2]}, subject})
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
		case err == nil && msg.Header.Get(dueHeader) == e.text:
			keys = append(keys, e.key)
			continue
		case err == nil, errors.Is(err, store.ErrNotFound):
			err = s.retire(ctx, e.subject, info.TimeStamp)
		}
		if err != nil && len(keys) > 0 {
			break
		}
		if err != nil {
			return nil, failed("due", err)
		}
	}
	return keys, nil
}

// retire replaces an entry of the index that its record does not confirm by one that lives a moment. A
// young one stays: its record may be on its way. Both times are the server's. If the entry is written
// again meanwhile, the replacement is refused, which is why it waits for no answer.
func (s *Store) retire(ctx context.Context, subject string, now time.Time) error {
	entry, err := s.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil || now.Sub(entry.Time) < s.retireAfter {
		return err
	}
	msg := nats.NewMsg(subject)
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(entry.Sequence, 10))
	msg.Header.Set(jetstream.ExpectedStreamHeader, s.opts.Stream)
	msg.Header.Set(jetstream.MsgTTLHeader, "1s")
	return s.nc.PublishMsg(msg)
}
