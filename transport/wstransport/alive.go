package wstransport

import (
	"io"
	"time"

	"github.com/gorilla/websocket"
)

// watch pings the peer until the connection ends, and ends it when the token that
// opened it expires or no request comes.
func (c *conn) watch() {
	ping := time.NewTicker(c.limits.PingInterval)
	defer ping.Stop()
	var expired <-chan time.Time
	if c.extra != nil && c.extra.TokenInfo != nil && !c.extra.TokenInfo.Expiration.IsZero() {
		timer := time.NewTimer(time.Until(c.extra.TokenInfo.Expiration))
		defer timer.Stop()
		expired = timer.C
	}
	var first <-chan time.Time
	if c.firstRequest > 0 {
		timer := time.NewTimer(c.firstRequest)
		defer timer.Stop()
		first = timer.C
	}
	for {
		select {
		case <-first:
			if !c.requested.Load() {
				_ = c.end(websocket.ClosePolicyViolation, "no request was made")
			}
		case <-c.ended:
			return
		case <-expired:
			_ = c.end(websocket.ClosePolicyViolation, "the bearer token expired")
		case <-ping.C:
			if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.limits.WriteTimeout)); err != nil {
				_ = c.finish(ending{cause: lost(c.notRead(err))})
			}
		}
	}
}

// hear moves the deadline by which the peer must be heard again, as far as the
// message that is being read allows. It is called by whoever holds the turn to read.
func (c *conn) hear(now time.Time) error {
	c.heard = now
	deadline := now.Add(c.limits.PongWait)
	if !c.by.IsZero() && c.by.Before(deadline) {
		deadline = c.by
	}
	return c.ws.SetReadDeadline(deadline)
}

// hearLately is hear for every message. It leaves the deadline alone for an
// eighth of the wait, because moving it costs as much as reading a short message;
// pongs always move it, so an eighth is never missed by a peer that is there.
func (c *conn) hearLately() error {
	if now := time.Now(); now.Sub(c.heard) > c.limits.PongWait/8 {
		return c.hear(now)
	}
	return nil
}

// hearing counts each piece of a long message as a sign of life.
type hearing struct {
	c *conn
	r io.Reader
}

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if err == nil {
		err = h.c.hearLately()
	}
	return n, err
}
