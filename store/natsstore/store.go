// Package natsstore remembers rounds in a stream of NATS JetStream, for a fleet
// of processes. It needs a server of version 2.12 or later.
//
// A record is the last message of its subject, and its revision is that
// message's sequence. The stream's subjects carry the name of the contents: a publish for a
// stream that was deleted, or made anew, has nowhere to go. Its sequences begin at a random
// one, so a stream that has lost its disk is another epoch. Never change the subjects of
// the stream.
//
// How much the stream survives is up to the servers. With three replicas
// ([Options.Replicas]) it survives the loss of one. A single server writes to
// its disk at intervals: set its sync_interval to "always" if a power cut must
// not lose rounds. Open cannot see that setting, so it refuses no server for it. After
// the stream was restored from a backup, delete it: an older copy does not know of the
// rounds that ran since.
package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mrtr-go/sdk/store"
)

// Options says where rounds are remembered. The zero value is good for one
// server; set Replicas on a cluster.
type Options struct {
	// Stream names the stream. Empty means "MRTR_ROUNDS".
	Stream string
	// Replicas is how many servers keep the stream that Open makes: 1, 3 or 5.
	// Zero means 1. A stream that is there stays as it is, and is refused if it has another
	// number, as is one replica in a cluster.
	Replicas int
	// Linger is how much longer than its time to live the server keeps a record, so that its
	// clock may be ahead by as much for a while and no round runs again. Zero means 3 hours.
	Linger time.Duration
	// AcceptLoss lets Open take a stream that may lose acknowledged writes with one disk. A
	// round that ran may then run again.
	AcceptLoss bool
	// MaxValue bounds a value. Zero means [store.DefaultMaxValue]. The server's
	// max_payload must leave 4 KiB beside it.
	MaxValue int
	// MaxBytes bounds the stream that Open makes, for accounts that demand a
	// bound. The server then refuses every write, an Update too, with
	// [store.ErrFull]. Zero means none.
	MaxBytes int64
}

// Store is a [store.Store] and a [store.Watcher] in one stream. It holds nothing
// that needs closing; the connection is the caller's.
type Store struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	stream   jetstream.Stream // for direct gets: it knows the name alone
	opts     Options
	maxValue int
	known    atomic.Value // the present epoch, as far as this handle knows
	settings store.Settings
	high     store.HighWater

	retireAfter time.Duration // in the index for Due
}

const (
	defaultStream = "MRTR_ROUNDS"
	defaultLinger = 3 * time.Hour
	// headers is more than a publish needs beside its value.
	headers = 4 << 10
	// noRevision is a sequence that no message has.
	noRevision = store.Revision(math.MaxInt64)
	// longestStart is how long the replicas of a new stream may take to listen.
	longestStart = 2 * time.Second
)

// Open finds the stream, or makes it.
//
// The connection must have been made with nats.ReconnectBufSize(-1). Otherwise
// it buffers writes while it has no server, and delivers them at some later
// time, when nobody waits for them any more.
func Open(ctx context.Context, nc *nats.Conn, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{nc: nc, opts: *opts, retireAfter: 2 * scheduling}
	if s.opts.Stream == "" {
		s.opts.Stream = defaultStream
	}
	s.opts.Linger = cmp.Or(opts.Linger, defaultLinger)
	var err error
	if s.maxValue, err = store.MaxValue(opts.MaxValue); err != nil {
		return nil, err
	}
	switch {
	case nc == nil:
		return nil, store.Misuse("natsstore: the connection is nil")
	case nc.Opts.ReconnectBufSize >= 0:
		return nil, store.Misuse("natsstore: the connection buffers while it has no server: connect with nats.ReconnectBufSize(-1)")
	case opts.Replicas < 0 || opts.MaxBytes < 0 || opts.Linger < 0:
		return nil, store.Misuse("natsstore: Replicas is %d, MaxBytes %d and Linger %v: none is negative", opts.Replicas, opts.MaxBytes, opts.Linger)
	}
	if s.js, err = jetstream.New(nc); err != nil {
		return nil, failed("open", err)
	}
	if _, err := s.Epoch(ctx); err != nil {
		return nil, err
	}
	if s.stream, err = s.js.Stream(ctx, s.opts.Stream); err != nil {
		return nil, failed("open", err)
	}
	if !opts.AcceptLoss {
		if err := s.settings.Hold(ctx, s.checkReplicas); err != nil {
			return nil, err
		}
	}
	if limit := nc.MaxPayload(); limit > 0 && limit < int64(s.maxValue+headers) {
		return nil, store.Misuse("natsstore: MaxValue %d does not fit in a message: the server's max_payload is %d", s.maxValue, limit)
	}
	return s, nil
}

// Scope is [store.Cluster].
func (s *Store) Scope() store.Scope { return store.Cluster }

// Epoch implements [store.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	for {
		if err := ctx.Err(); err != nil {
			return "", failed("epoch", err)
		}
		stream, err := s.js.Stream(ctx, s.opts.Stream)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			// Of all who make it, one wins, as each has contents of its own.
			_, err = s.js.CreateStream(ctx, s.config())
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				err = nil
			}
		case err != nil:
		case isUnfinished(stream.CachedInfo().Config):
			if err = s.finish(ctx, stream); err != nil {
				err = s.unlessFinished(ctx, err)
			}
		default:
			epoch, whole, unfit := epochOf(stream.CachedInfo())
			if whole {
				s.known.Store(epoch)
				return epoch, nil
			}
			if err = unfit; err == nil {
				err = s.renew(ctx, stream.CachedInfo())
			}
		}
		if err != nil {
			return "", failed("epoch", err)
		}
	}
}

// unlessFinished is the error of whoever finishes a stream, or nil if somebody else did so.
func (s *Store) unlessFinished(ctx context.Context, err error) error {
	stream, lost := s.js.Stream(ctx, s.opts.Stream)
	if errors.Is(lost, jetstream.ErrStreamNotFound) || lost == nil && !isUnfinished(stream.CachedInfo().Config) {
		return nil
	}
	return err
}

// knows returns ErrForgotten for a key of another epoch. It asks about one that it does not
// know: a write under those subjects may succeed, and Get finds what was written before.
func (s *Store) knows(ctx context.Context, epoch string) error {
	if s.known.Load() == epoch {
		return nil
	}
	return s.compare(ctx, epoch)
}

// Reached implements [store.Marker].
func (s *Store) Reached(epoch string) store.Revision { return s.high.Reached(epoch) }

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, key, 0, value, ttl, store.ErrExists, "")
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if at == 0 { // to the server it means that there is no message
		at = noRevision
	}
	return s.write(ctx, key, at, value, ttl, store.ErrConflict, "")
}

// write publishes, if the subject's last message is the expected one. It is a
// publish and not an update of the key-value API, which drops the time to live.
// It is said again only where nobody has taken it: a second attempt would conflict with the
// first.
func (s *Store) write(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, conflict error, due string) (store.Revision, error) {
	err := store.CheckWrite(key, value, s.maxValue, ttl)
	if err == nil {
		err = s.settings.Check(ctx)
	}
	if err != nil {
		return 0, err
	}
	if err = ctx.Err(); err == nil {
		err = s.knows(ctx, key.Epoch)
	}
	if err != nil {
		return 0, failed("write", err)
	}
	msg := nats.NewMsg(subject(key))
	msg.Data = value
	if due != "" {
		msg.Header.Set(dueHeader, due)
	}
	if begins := first(key.Epoch); begins > 0 { // no sequence before it is of this epoch
		key.After = max(key.After, begins-1)
	}
	now, err := s.high.Write(key, func() (store.Revision, error) { return s.publish(ctx, key, at, msg, ttl, conflict) },
		func() error { return s.end(ctx, key.Epoch) })
	if err != nil {
		return 0, failed("write", err)
	}
	return now, nil
}

func (s *Store) publish(ctx context.Context, key store.Key, at store.Revision, msg *nats.Msg, ttl time.Duration, conflict error) (store.Revision, error) {
	for began := time.Now(); ; {
		ack, err := s.js.PublishMsg(ctx, msg,
			jetstream.WithExpectLastSequencePerSubject(uint64(at)),
			jetstream.WithExpectStream(s.opts.Stream),
			jetstream.WithMsgTTL(s.lifetime(ttl)),
			jetstream.WithRetryAttempts(0))
		switch {
		case err == nil:
			return store.Revision(ack.Sequence), nil
		case isBusy(err) && time.Since(began) < longestStart:
			err = pause(ctx)
		case errors.Is(err, jetstream.ErrNoStreamResponse): // nobody has heard it
			err = s.listening(ctx, key.Epoch, began, err)
		default:
			err = verdict(err, conflict)
		}
		if err != nil {
			return 0, err
		}
	}
}

// lifetime is that of a message. The server counts in seconds and cuts off the rest.
func (s *Store) lifetime(ttl time.Duration) time.Duration {
	return (ttl + s.opts.Linger + time.Second - 1).Truncate(time.Second)
}

// Get implements [store.Store]. A replica that answers it may lag.
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil {
		return nil, 0, err
	}
	err := ctx.Err()
	if err == nil {
		err = s.knows(ctx, key.Epoch)
	}
	if err != nil {
		return nil, 0, failed("get", err)
	}
	for began := time.Now(); ; {
		msg, err := s.last(ctx, key)
		switch {
		case err == nil:
			return msg.Data, store.Revision(msg.Sequence), nil
		case errors.Is(err, store.ErrNotFound):
			return nil, 0, err
		case !errors.Is(err, nats.ErrNoResponders):
			return nil, 0, failed("get", err)
		}
		if err := s.listening(ctx, key.Epoch, began, err); err != nil {
			return nil, 0, failed("get", err)
		}
	}
}

// listening returns nil after a moment if it is worth asking again, when nobody
// listened: the stream is gone, has no leader, or is so new that its replicas
// are not there yet.
func (s *Store) listening(ctx context.Context, epoch string, began time.Time, err error) error {
	if compared := s.compare(ctx, epoch); compared != nil {
		return compared
	}
	if time.Since(began) > longestStart {
		return err
	}
	return pause(ctx)
}

// pause waits for a moment.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(soon):
		return nil
	}
}

// isBusy reports whether a write was refused because another one of its record is under way.
// A cluster acknowledges a write before it has done with it, so that may be the one that the
// caller has just made: it says nothing about the revision.
func isBusy(err error) bool {
	var refusal *jetstream.APIError
	return errors.As(err, &refusal) && refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// compare looks up whether the stream is still the one that the epoch is about.
func (s *Store) compare(ctx context.Context, epoch string) error {
	stream, err := s.js.Stream(ctx, s.opts.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return store.ErrForgotten
	}
	if err != nil {
		return err
	}
	now, _, err := epochOf(stream.CachedInfo())
	if err == nil && now != epoch {
		err = store.ErrForgotten
	}
	return err
}

// verdict translates the server's refusal.
func verdict(err, conflict error) error {
	var refusal *jetstream.APIError
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence:
		return conflict
	case codeAccountFull, codeServerFull, codeStorageFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case codeStoreFailed: // also for a broken disk: tell them apart by the text
		if refusal.Description == "maximum bytes exceeded" || refusal.Description == "maximum messages exceeded" {
			return fmt.Errorf("%w: %w", store.ErrFull, err)
		}
	case codeMessageTooLong:
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	}
	return err
}

// Error codes of the server for which nats.go has no name.
const (
	codeAccountFull    jetstream.ErrorCode = 10002
	codeServerFull     jetstream.ErrorCode = 10023
	codeStorageFull    jetstream.ErrorCode = 10047
	codeMessageTooLong jetstream.ErrorCode = 10054
	codeStoreFailed    jetstream.ErrorCode = 10077
)

func failed(op string, err error) error { return fmt.Errorf("natsstore: %s: %w", op, err) }

const (
	soon = 5 * time.Millisecond
	// late is how long a change may go unnoticed whose message did not come: the
	// servers spread the news of a subscription, a record that expires sends
	// none, and a connection may be replaced.
	late = 500 * time.Millisecond
)

// Wait implements [store.Watcher]. It subscribes to the record's own subject,
// so it needs no consumer, and looks when a message comes by. A message is not
// the change yet: a publish that is refused comes by as well, and the replica
// that answers may not have it.
func (s *Store) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	if err := key.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed("wait", err)
	}
	published := make(chan struct{}, 1)
	subscription, err := s.nc.Subscribe(subject(key), func(*nats.Msg) {
		select {
		case published <- struct{}{}:
		default: // one look serves them all
		}
	})
	if err != nil {
		return failed("wait", err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	pause := late
	for {
		_, now, err := s.Get(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		case now > at:
			return nil
		}
		select {
		case <-ctx.Done():
			return failed("wait", ctx.Err())
		case <-published:
			pause = soon
		case <-time.After(pause):
			pause = min(2*pause, late)
		}
	}
}
