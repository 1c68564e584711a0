package wstransport

import (
	"fmt"
	"net/http"

	"github.com/mrtr-go/sdk/internal/usage"
)

// A CloseError is how a connection ended, when a close code was sent. The
// package documentation lists the codes that this package sends.
type CloseError struct {
	Code   int
	Reason string
	// Remote is true when the peer closed, false when this end did.
	Remote bool
}

func (e *CloseError) Error() string {
	who := "closed"
	if e.Remote {
		who = "peer closed"
	}
	if e.Reason == "" {
		return fmt.Sprintf("wstransport: %s with code %d", who, e.Code)
	}
	return fmt.Sprintf("wstransport: %s with code %d: %s", who, e.Code, e.Reason)
}

// A RefusedError is a handshake that ended in an HTTP response. [Accept]
// returns it after sending that response, [Dial] after receiving it.
type RefusedError struct {
	StatusCode int
	// Header is the response's, for instance to read Www-Authenticate. Nil from Accept.
	Header http.Header
	// Message is the body of the response, up to the first kilobyte.
	Message string

	why string // for HandlerOptions.Refused
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("wstransport: refused with status %d: %s", e.StatusCode, e.Message)
}

// UsageError is a mistake in the options of this package or in the way it is
// called. [NewHandler], [Accept], [Dial] and the transports return it.
type UsageError = usage.Error
