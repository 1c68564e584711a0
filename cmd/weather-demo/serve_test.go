package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

func TestServeHTTPServesBothErasOnOneAddress(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil)
	socket := func(opts *wire.Options) *wire.Client {
		transport, err := wstransport.Dial(within(t), "ws"+strings.TrimPrefix(s.url, "http")+"/ws", nil)
		require.NoError(t, err)
		client, err := wire.Dial(within(t), transport, opts)
		require.NoError(t, err)
		return client
	}
	for _, e := range []era{modern, legacy} {
		for _, dial := range []func(*wire.Options) *wire.Client{s.client, socket} {
			client := dial(e.Client())
			out, err := client.Call(within(t), "weather_steps", map[string]string{"location": "Springfield"}, weather.FirstChoices)
			require.NoError(t, err)
			require.Equal(t, "Weather in Springfield, Illinois: 18°C, clear.", out.Text)
			require.Len(t, out.Questions, 2)
			require.NoError(t, client.Close())
		}
	}
	s.stops(syscall.SIGTERM)
}

// The call by hand of docs/clients.md is run as it stands there. Without its store, which is
// the last flag, the retry that is sent again charges again.
func TestServeToCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("MRTR_CI") == "1" {
			t.Fatal("curl is missing")
		}
		t.Skip("install curl, of Debian's package curl")
	}
	page, err := os.ReadFile("../../docs/clients.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```\\w+\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 3, "the server, the requests, the responses")
	const address = "127.0.0.1:8080"
	run, http, found := strings.Cut(strings.TrimSpace(blocks[0][1]), " serve -http "+address+" ")
	require.True(t, found && run == "go run ./cmd/weather-demo", blocks[0][1])
	for _, c := range []struct{ flags, charged string }{{http, `{"charge": 1}`}, {"", `{"charge": 2}`}} {
		s := serveHTTPOnAnyPort(t, nil, strings.Fields(c.flags)...)
		sent := strings.ReplaceAll(blocks[1][1], "http://"+address, s.url)
		got, err := exec.CommandContext(within(t), "sh", "-euc", sent).CombinedOutput()
		require.NoError(t, err, "%s", got)
		got = regexp.MustCompile(`"_meta":\{([^{}]|\{[^{}]*\})*\},`).ReplaceAll(got, nil)
		got = regexp.MustCompile(`("requestState":"\w\w)[^"]*`).ReplaceAll(got, []byte("$1…"))
		words := func(text string) string { return strings.Join(strings.Fields(text), "") } // the page breaks lines
		require.Equal(t, words(strings.Replace(blocks[2][1], `{"charge": 1}`, c.charged, 1)), words(string(got)))
		s.stops(syscall.SIGTERM)
	}
}

func TestServeSaysWhereAndHow(t *testing.T) {
	s := startServing(t, nil, "-http", "127.0.0.1:0")
	banner := ""
	in := bufio.NewReader(s.stdout)
	for range 5 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		banner += line
	}
	for _, want := range []string{"/mcp  ", `over WebSocket, subprotocol "mcp"`, "/charges  ", "a page"} {
		require.Contains(t, banner, want)
	}
	s.stops(syscall.SIGINT)
}

func TestServeWarnsOfAKeyOfItsOwn(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil)
	s.logs("warning: MRTR_KEYS is not set")
	s.stops(syscall.SIGTERM)

	s = serveHTTPOnAnyPort(t, []string{keysVariable + "=" + statecodec.GenerateKey().Text()})
	s.stops(syscall.SIGTERM)
	require.Empty(t, s.log.String())
}

func TestServersWithOneKeyShareACall(t *testing.T) {
	key := keysVariable + "=" + statecodec.GenerateKey().Text()
	request := wire.Request{Name: "weather_journal", Arguments: map[string]string{"location": "Lisbon"}}
	var reply *wire.Reply
	for _, keys := range []string{key, key, keysVariable + "=" + statecodec.GenerateKey().Text()} {
		s := startServing(t, []string{keys})
		client := s.client(nil)
		var err error
		reply, err = client.Send(within(t), request)
		require.NoError(t, err)
		if reply.Incomplete() {
			request.State, request.Responses = reply.State, map[string]any{"units": wire.Value("metric")(reply.Asks[0])}
		} else if keys == key {
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", reply.Text)
		}
		s.hangUp()
	}
	require.NotNil(t, reply.Error, "another key")
	require.Equal(t, statecodec.Refusal, reply.Error.Message)
}

func TestServeRefusesWhatCannotWork(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	got := weatherDemo(t, "", "serve", "-http", taken.Addr().String())
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "listen tcp "+taken.Addr().String())
	require.Empty(t, got.stdout)

	s := startServing(t, []string{keysVariable + "=secret"})
	require.Error(t, s.cmd.Wait())
	require.Contains(t, s.log.String(), keysVariable)
	require.NotContains(t, s.log.String(), "secret")
}

// A client that cannot be asked is refused, or answered with the defaults.
func TestServeAnswersForClientsThatCannotBeAsked(t *testing.T) {
	for _, flags := range [][]string{nil, {"-defaults"}} {
		s := serveHTTPOnAnyPort(t, nil, flags...)
		client := s.client(&wire.Options{Capabilities: wire.Nothing})
		reply, err := client.Send(within(t), wire.Request{Name: "weather_native", Arguments: map[string]string{"location": "Lisbon"}})
		require.NoError(t, err)
		if flags == nil {
			require.Equal(t, int64(-32021), reply.Error.Code)
		} else {
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", reply.Text)
		}
		require.NoError(t, client.Close())
		s.stops(syscall.SIGTERM)
	}
}

func TestServeOffersTheLandmineOnlyWhenAsked(t *testing.T) {
	for _, flags := range [][]string{nil, {"-landmine"}} {
		s := serveHTTPOnAnyPort(t, nil, flags...)
		client := s.client(nil)
		listed, err := client.Send(within(t), wire.Request{Method: "tools/list"})
		require.NoError(t, err)
		var list struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(listed.Result, &list))
		offered := map[string]bool{}
		for _, tool := range list.Tools {
			offered[tool.Name] = true
		}
		for _, o := range weather.Styles() {
			landmine := o.Letter == "B" || o.Letter == "N"
			require.Equal(t, !landmine || flags != nil, offered[o.Tool()], o.Tool())
		}
		require.NoError(t, client.Close())
		s.stops(syscall.SIGTERM)
	}
}

func TestServeLogsALineARound(t *testing.T) {
	s := startServing(t, nil, "-stdio")
	client := s.client(nil)
	out, err := client.Call(within(t), "weather_steps", map[string]string{"location": "Springfield"}, wire.Answers{
		"place": wire.Value("Springfield, Missouri"), "units": wire.Value("imperial"),
	})
	require.NoError(t, err)
	require.Len(t, out.States, 2)
	for _, more := range []wire.Request{
		{Name: "places"},
		{Name: "weather_steps", Arguments: map[string]int{"location": 5}},
		{Name: "weather_steps", Arguments: map[string]string{"location": "Springfield"}, State: out.States[0] + "x"},
		{Name: "no\ntool", Arguments: struct{}{}},
	} {
		_, err = client.Send(within(t), more)
		require.NoError(t, err)
	}
	s.hangUp()

	log := s.log.String()
	for _, secret := range append(out.States, "Missouri", "imperial", "Springfield", "°") {
		require.NotContains(t, log, secret, "an answer or a state in the log")
	}
	const when, took = `\d\d:\d\d:\d\d\.\d{3}  `, ` +\d+\.\d\dms  `
	var lines, warnings []string
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		if strings.Contains(line, "level=") {
			warnings = append(warnings, line)
			continue
		}
		lines = append(lines, line)
	}
	require.Len(t, warnings, 3, log)
	for i, want := range []string{"type=validation", `error="Invalid or expired requestState"`, "call refused"} {
		require.Contains(t, warnings[i], "level=WARN")
		require.Contains(t, warnings[i], want)
		require.Contains(t, warnings[i], "requestId=")
	}
	expected := []string{
		`call ([0-9a-f]{8})  round 1   weather_steps ` + took + `asked place`,
		`card charged, 1 in all`,
		`call ([0-9a-f]{8})  round 2   weather_steps ` + took + `asked units`,
		`call ([0-9a-f]{8})  round 3   weather_steps ` + took + `completed`,
		`call -         round 1   places ` + took + `completed`,
		`call -         round 1   weather_steps ` + took + `stopped: validation`,
		`call -         round \d   weather_steps ` + took + `state refused: \w+`,
		`call -         round 1   no\?tool ` + took + `refused`,
	}
	require.Len(t, lines, len(expected), log)
	ids := map[string]bool{}
	for i, want := range expected {
		m := regexp.MustCompile("^" + when + want + "$").FindStringSubmatch(lines[i])
		require.NotNil(t, m, "line %d is not %s:\n%s", i+1, want, lines[i])
		if len(m) > 1 {
			ids[m[1]] = true
		}
	}
	require.Len(t, ids, 1, "the rounds of one call have one id")
}
