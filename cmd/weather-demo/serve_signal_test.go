//go:build !windows

package main

import (
	"syscall"
	"testing"

	"github.com/mrtr-go/sdk/internal/wire"
)

// The server stops while a user is thinking: a stream is open, or a handler is held. Windows
// sends no SIGINT or SIGTERM to another process.
func TestServeStopsInTheMiddleOfACall(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, e := range []era{modern, legacy} {
			s := serveHTTPOnAnyPort(t, nil)
			client := s.client(e.Client())
			asked, release, ended := make(chan bool), make(chan bool), make(chan bool)
			go func() {
				_, _ = client.Call(within(t), "weather_coroutine", map[string]string{"location": "Lisbon"}, wire.Answers{
					"units": func(q wire.Question) any { close(asked); <-release; return wire.Cancel(q) },
				})
				close(ended)
			}()
			<-asked
			s.stops(signal)
			close(release)
			<-ended // with either outcome
		}
	}
}
