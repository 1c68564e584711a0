package statecodec

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
)

// Service is a key service, such as a cloud's: it seals and opens secrets with a key that
// never leaves it.
//
// Keys lie in the configuration as the service sealed them ([SealKey]), and are opened when a
// server starts and when its ring is replaced ([OpenKeys]). No request waits for the service:
// while it is down, servers that run seal and open as before.
type Service interface {
	Seal(ctx context.Context, secret []byte) (sealed []byte, err error)
	Open(ctx context.Context, sealed []byte) (secret []byte, err error)
}

// SealKey is a key as a text that the service alone can open.
func SealKey(ctx context.Context, s Service, key Key) (string, error) {
	if key.material == nil {
		return "", misuse("SealKey: the key is the zero Key")
	}
	sealed, err := s.Seal(ctx, key.material().secret)
	if err != nil {
		return "", &ServiceError{err}
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// OpenKeys opens keys that [SealKey] sealed, for a [Keyring]. It ends with ctx, whether or not
// the service heeds it: an error of the service is a [*ServiceError], and one of the texts a
// [*UsageError].
func OpenKeys(ctx context.Context, s Service, sealed ...string) ([]Key, error) {
	keys := make([]Key, len(sealed))
	for i, text := range sealed {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return nil, misuse("OpenKeys: key %d is not as SealKey made it", i+1)
		}
		secret, err := open(ctx, s, b)
		if err != nil {
			return nil, &ServiceError{fmt.Errorf("key %d: %w", i+1, err)}
		}
		if keys[i], err = NewKey(secret); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// open is Open of a service that may not heed ctx.
func open(ctx context.Context, s Service, sealed []byte) ([]byte, error) {
	type opened struct {
		secret []byte
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		o := opened{err: errors.New("it panicked")}
		defer func() {
			if recover() != nil { // the server that asks has its keys, and goes on
				done <- o
			}
		}()
		o.secret, o.err = s.Open(ctx, sealed)
		done <- o
	}()
	select {
	case o := <-done:
		return o.secret, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ServiceError is a failure of a key service. Trying again may help.
type ServiceError struct{ err error }

func (e *ServiceError) Error() string { return "statecodec: the key service failed: " + e.err.Error() }

// Unwrap gives the service's own error.
func (e *ServiceError) Unwrap() error { return e.err }

// ToolErrorRetryable is true.
func (e *ServiceError) ToolErrorRetryable() bool { return true }
