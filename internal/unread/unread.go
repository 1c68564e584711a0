// Package unread bounds the wait for bodies that nobody reads.
package unread

import (
	"net/http"
	"time"
)

// Within is how long a client may take to send a body.
const Within = time.Minute

// Bound gives the client so long for the body of a request, or for the rest of it. A handler that
// answers without reading a body leaves it to net/http, which reads on before it sends the answer,
// and never stops without a deadline.
func Bound(w http.ResponseWriter, r *http.Request, within time.Duration) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a connection without deadlines has its own limits
	}
}
