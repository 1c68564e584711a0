package main

import (
	"bufio"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
)

func TestServeStdio(t *testing.T) {
	for _, e := range []era{modern, legacy} {
		s := startServing(t, nil, "-stdio")
		client := s.client(e.Client())
		out, err := client.Call(within(t), "weather_once", map[string]string{"location": "Springfield"}, weather.FirstChoices)
		require.NoError(t, err)
		require.Equal(t, "Weather in Springfield, Illinois: 18°C, clear.", out.Text)
		s.logs("completed")
		require.NotContains(t, s.log.String(), "warning", "a server on stdio has one client, which ends with it")
		s.hangUp()
	}
}

func TestServeStdioEndsInTheMiddleOfACall(t *testing.T) {
	ends := map[string]func(*serving){
		"the input ends": func(s *serving) { require.NoError(t, s.stdin.Close()); s.ends() },
		"SIGTERM":        func(s *serving) { s.stops(syscall.SIGTERM) },
		"SIGINT":         func(s *serving) { s.stops(syscall.SIGINT) },
	}
	for name, end := range ends {
		for _, e := range []era{modern, legacy} {
			t.Run(name+", "+string(e), func(t *testing.T) {
				s := startServing(t, nil, "-stdio")
				s.t = t
				client := s.client(e.Client())
				asked, release := make(chan bool), make(chan bool)
				go func() {
					// The call ends with the connection.
					_, _ = client.Call(within(t), "weather_coroutine", map[string]string{"location": "Lisbon"}, wire.Answers{
						"units": func(q wire.Question) any { close(asked); <-release; return wire.Cancel(q) },
					})
				}()
				<-asked
				end(s)
				close(release)
			})
		}
	}
}

// A line that is no message ends neither the server nor its next call.
func TestServeStdioSurvivesGarbage(t *testing.T) {
	s := startServing(t, nil, "-stdio")
	_, err := s.stdin.Write([]byte("this is not JSON\n"))
	require.NoError(t, err)
	answer, err := bufio.NewReaderSize(oneByte{s.stdout}, 16).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, answer, "-32700")
	client := s.client(modern.Client())
	_, err = client.Call(within(t), "weather_once", map[string]string{"location": "Springfield"}, weather.FirstChoices)
	require.NoError(t, err)
	s.logs("a line is no message")
	s.hangUp()
}

// oneByte reads no more than it has to.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:1]) }
