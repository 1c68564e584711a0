package mrtr

import (
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/failure"
	"github.com/mrtr-go/sdk/statecodec"
)

// Unsigned replaces the codec of a runtime by one that seals nothing, as on a server that hands
// its state to the client as it is.
func Unsigned(rt *Runtime) { rt.codec = unsigned{} }

type unsigned struct{}

func (unsigned) Seal(_ statecodec.Binding, payload []byte) (string, error) {
	return string(payload), nil
}

func (unsigned) AppendOpen(dst []byte, _ statecodec.Binding, token string, _ time.Time) ([]byte, error) {
	return append(dst, token...), nil
}

func (unsigned) Open(_ statecodec.Binding, token string) ([]byte, error) {
	return []byte(token), nil
}

// Failures is an error of an effect as it is first returned, and as a replay meets it.
func Failures(err error) (first, replayed error) {
	f := failureOf(err)
	again, e := failure.Read(f.Encode())
	if e != nil {
		panic(e)
	}
	return meet(f), meet(again)
}

// CountRegistrations counts the names and addresses that a runtime remembers.
func CountRegistrations(rt *Runtime) int { return rt.registrations.Len() }
