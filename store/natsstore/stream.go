package natsstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mrtr-go/sdk/store"
)

// A record's subject is subjects.<contents>.<name>. Beside the records lie messages whose
// subjects begin with a tilde, which no name has.
const (
	subjects = "mrtr.rounds."
	anchor   = "~first"
	dueIndex = "~due."
)

func subject(key store.Key) string { return under(key.Epoch) + key.Name }

func under(epoch string) string { return subjects + store.Contents(epoch) + "." }

// A configuration outlives the messages: a cluster that has lost the disk of a stream makes it
// again, empty and with the same subjects. So the sequences of a stream begin at a random one,
// which its metadata name and which is part of its epoch. They cannot be configured to: the
// stream is compacted to that sequence while it is empty. One that was made again counts from
// 1, and every acknowledgement says so.
const firstKey = "mrtr-first"

// config is a stream that keeps the last message of each subject until its time
// to live has passed. It can still be compacted.
func (s *Store) config() jetstream.StreamConfig {
	maxBytes := s.opts.MaxBytes
	if maxBytes == 0 {
		maxBytes = -1
	}
	return jetstream.StreamConfig{
		Name:              s.opts.Stream,
		Description:       "rounds that were answered (mrtr)",
		Subjects:          []string{newSubjects()},
		Metadata:          map[string]string{firstKey: strconv.FormatUint(1<<40+mathrand.Uint64N(1<<50), 10)},
		Storage:           jetstream.FileStorage,
		Replicas:          max(s.opts.Replicas, 1),
		MaxBytes:          maxBytes,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardNew,
		AllowMsgTTL:       true,
		AllowDirect:       true,
		DenyDelete:        true,
	}
}

// contentsLen is enough of a random text to tell one stream from another.
const contentsLen = 13

func newSubjects() string { return subjects + rand.Text()[:contentsLen] + ".>" }

// finish makes a stream one that nobody can empty without deleting it. Whoever finds one that
// is not finished does so, however many they are.
func (s *Store) finish(ctx context.Context, stream jetstream.Stream) error {
	config := stream.CachedInfo().Config
	first, err := strconv.ParseUint(config.Metadata[firstKey], 10, 64)
	if err != nil {
		return err
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(first)); err != nil {
		return err
	}
	config.DenyPurge = true
	if _, err = s.js.UpdateStream(ctx, config); err != nil {
		return err
	}
	return s.drop(ctx, config)
}

// drop leaves an anchor: a stream without any message may forget how far it has counted.
func (s *Store) drop(ctx context.Context, config jetstream.StreamConfig) error {
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: strings.TrimSuffix(config.Subjects[0], ">") + anchor},
		jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithExpectStream(s.opts.Stream), jetstream.WithRetryAttempts(0))
	if errors.Is(verdict(err, store.ErrConflict), store.ErrConflict) {
		return nil
	}
	return err
}

// renew gives a stream that has lost messages other subjects, which no key of before has.
func (s *Store) renew(ctx context.Context, info *jetstream.StreamInfo) error {
	s.known.Store("") // whatever comes next has to ask
	config := info.Config
	config.Subjects = []string{newSubjects()}
	if config.Metadata == nil {
		config.Metadata = map[string]string{}
	}
	config.Metadata[firstKey] = strconv.FormatUint(info.State.LastSeq+1, 10)
	if _, err := s.js.UpdateStream(ctx, config); err != nil {
		return err
	}
	return s.drop(ctx, config)
}

// end ends an epoch, if it is the present one.
func (s *Store) end(ctx context.Context, epoch string) error {
	stream, err := s.js.Stream(ctx, s.opts.Stream)
	if err != nil {
		return err
	}
	now, _, err := epochOf(stream.CachedInfo())
	if err != nil || now != epoch {
		return err
	}
	return s.renew(ctx, stream.CachedInfo())
}

// isUnfinished reports whether a stream of this package can still be compacted.
func isUnfinished(config jetstream.StreamConfig) bool {
	return config.Metadata[firstKey] != "" && !config.DenyPurge
}

// epochOf reads the epoch of a stream, and whether the stream has come as far as that says. It
// refuses a stream that could lose records and keep its epoch.
func epochOf(info *jetstream.StreamInfo) (epoch string, whole bool, _ error) {
	config, unfit := info.Config, ""
	switch {
	case config.Storage != jetstream.FileStorage:
		unfit = "it is not on disk"
	case config.Discard != jetstream.DiscardNew && (config.MaxBytes > 0 || config.MaxMsgs > 0):
		unfit = "it drops old messages when it is full"
	case config.MaxAge != 0:
		unfit = "it drops messages by its own age limit"
	case config.Retention != jetstream.LimitsPolicy:
		unfit = "it drops messages that were read"
	case !config.AllowMsgTTL:
		unfit = "its messages do not expire"
	case !config.AllowDirect:
		unfit = "it does not allow direct gets"
	case !config.DenyPurge || !config.DenyDelete:
		unfit = "it can be purged"
	case config.MaxMsgsPerSubject != 1:
		unfit = "it keeps more than the last message of a subject"
	case len(config.Subjects) != 1:
		unfit = "it has several subjects"
	}
	if unfit == "" {
		contents, ours := strings.CutPrefix(config.Subjects[0], subjects)
		contents, all := strings.CutSuffix(contents, ".>")
		first, err := strconv.ParseUint("0"+config.Metadata[firstKey], 10, 64) // an earlier release named none
		epoch := store.EpochOf(contents, strconv.FormatUint(first, 36))
		if err == nil && ours && all && (store.Key{Epoch: epoch, Name: "a"}).Check() == nil {
			return epoch, info.State.LastSeq+1 >= first, nil
		}
		unfit = "its subject is " + config.Subjects[0]
	}
	return "", false, fmt.Errorf("stream %s was not made by this package, or was changed: %s", config.Name, unfit)
}

// first is the sequence at which an epoch begins.
func first(epoch string) store.Revision {
	_, text, _ := strings.Cut(epoch, "-")
	first, _ := strconv.ParseUint(text, 36, 64)
	return store.Revision(first)
}

// checkReplicas refuses a stream that the loss of one disk would take away.
func (s *Store) checkReplicas(ctx context.Context) error {
	stream, err := s.js.Stream(ctx, s.opts.Stream)
	if err != nil {
		return failed("open", err)
	}
	info := stream.CachedInfo()
	replicas, clustered := info.Config.Replicas, info.Cluster != nil && info.Cluster.Name != ""
	switch {
	case s.opts.Replicas != 0 && replicas != s.opts.Replicas:
		return store.Misuse("natsstore: stream %s has %d replicas, and Replicas is %d: change the one or the other, or set AcceptLoss", s.opts.Stream, replicas, s.opts.Replicas)
	case clustered && replicas == 1:
		return store.Misuse("natsstore: stream %s has one replica in a cluster, which makes it again, empty, when that is lost: set Replicas to 3, or AcceptLoss", s.opts.Stream)
	}
	return nil
}

// last asks for the last message of a record's subject.
func (s *Store) last(ctx context.Context, key store.Key) (*jetstream.RawStreamMsg, error) {
	msg, err := s.stream.GetLastMsgForSubject(ctx, subject(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, store.ErrNotFound
	}
	return msg, err
}
