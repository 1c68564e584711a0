package natsstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mrtr-go/sdk/store"
)

// A record's subject is subjects.<epoch>.<name>.
const subjects = "mrtr.rounds."

func subject(key store.Key) string { return subjects + key.Epoch + "." + key.Name }

// config is a stream that keeps the last message of each subject until its time
// to live has passed, and that nobody can empty without deleting it.
func (s *Store) config() jetstream.StreamConfig {
	maxBytes := s.opts.MaxBytes
	if maxBytes == 0 {
		maxBytes = -1
	}
	return jetstream.StreamConfig{
		Name:              s.opts.Stream,
		Description:       "rounds that were answered (mrtr)",
		Subjects:          []string{subjects + rand.Text() + ".>"},
		Storage:           jetstream.FileStorage,
		Replicas:          max(s.opts.Replicas, 1),
		MaxBytes:          maxBytes,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardNew,
		AllowMsgTTL:       true,
		AllowDirect:       true,
		DenyDelete:        true,
		DenyPurge:         true,
	}
}

// epochOf reads the epoch from a stream's subjects, and refuses a stream that
// could lose records and keep its epoch.
func epochOf(config jetstream.StreamConfig) (string, error) {
	unfit := ""
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
		epoch, ours := strings.CutPrefix(config.Subjects[0], subjects)
		epoch, all := strings.CutSuffix(epoch, ".>")
		if ours && all && (store.Key{Epoch: epoch, Name: "a"}).Check() == nil {
			return epoch, nil
		}
		unfit = "its subject is " + config.Subjects[0]
	}
	return "", fmt.Errorf("stream %s was not made by this package, or was changed: %s", config.Name, unfit)
}

// last asks for the last message of a record's subject.
func (s *Store) last(ctx context.Context, key store.Key) (*jetstream.RawStreamMsg, error) {
	msg, err := s.stream.GetLastMsgForSubject(ctx, subject(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, store.ErrNotFound
	}
	return msg, err
}
