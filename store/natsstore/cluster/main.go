// Command cluster runs one weather tool in three processes behind a router, with a NATS
// server of its own in which they remember their rounds. It makes one call, kills an
// instance in the middle of it, and shows how the call completes at another one.
//
// Every process is this binary.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

const instances = 3

func main() {
	if text := os.Getenv(instanceVariable); text != "" {
		if err := runInstance(text); err != nil {
			fmt.Fprintln(os.Stderr, "an instance:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts everything and stops it again.
func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	nats, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	nats.Start()
	defer nats.WaitForShutdown()
	defer nats.Shutdown()
	if !nats.ReadyForConnections(20 * time.Second) {
		return errors.New("the NATS server is not ready")
	}

	var all sync.WaitGroup
	defer all.Wait()
	living, stop := context.WithCancel(ctx)
	defer stop()
	s := settings{NATS: nats.ClientURL(), Key: statecodec.GenerateKey().Text(), Audit: filepath.Join(dir, "audit")}
	if err := os.WriteFile(s.Audit, nil, 0o600); err != nil {
		return err
	}
	urls := map[string]*url.URL{}
	for i := range instances {
		s.Name = strconv.Itoa(i + 1)
		p, at, err := start(living, s)
		if err != nil {
			return err
		}
		urls[s.Name] = at
		all.Go(func() { _ = p.Wait() })
	}

	// A router chooses at random among those that are ready. With one of them ready
	// at a time, each request goes to the next.
	var requests atomic.Int64
	router, err := mcphttp.NewRouter(urls, &mcphttp.RouterOptions{Ready: func(name string) bool {
		return name == strconv.FormatInt((requests.Load()-1)%instances+1, 10)
	}})
	if err != nil {
		return err
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		router.ServeHTTP(w, r)
	}))
	defer front.Close()
	return showCall(ctx, front.URL, s.Audit)
}

// start starts an instance, which ends when ctx does or this process: its input is then
// at its end. It says its address on its output. Everything else it says goes to the
// output of this process, so that the lines of all come in the order of the events.
func start(ctx context.Context, s settings) (*exec.Cmd, *url.URL, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), instanceVariable+"="+string(text))
	cmd.Stderr = os.Stdout
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Cancel, cmd.WaitDelay = input.Close, drain+2*time.Second
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("instance %s ended before it was ready", s.Name), input.Close(), cmd.Wait())
	}
	at, err := url.Parse(strings.TrimSpace(address))
	return cmd, at, err
}

// say prints who does something, in one line.
func say(out io.Writer, who, format string, args ...any) {
	line := fmt.Sprintf("%-12s%s", who, fmt.Sprintf(format, args...))
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}

// The answers of the client.
var answers = map[string]string{"place": "Springfield, Illinois", "units": "metric"}

// showCall takes a call through its rounds, as a client does whose network fails, and
// counts its effects.
func showCall(ctx context.Context, url, audit string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // it waits out the lease of the dead instance
	defer cancel()
	client, err := wire.DialHTTP(ctx, url, nil, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	r := wire.Request{Name: toolName, Arguments: options.Query{Location: "Springfield"}}
	say(os.Stdout, "client", "calls %s, at Springfield", toolName)
	for {
		reply, err := client.Send(ctx, r)
		switch {
		case err != nil:
			return err
		case reply.Error != nil && reply.Error.Code == -31001: // the router lost the instance
			say(os.Stdout, "client", "is told to send the same request again, and does")
			continue
		case reply.Error != nil:
			return reply.Error
		case !reply.Incomplete():
			say(os.Stdout, "client", "gets: %s", reply.Text)
			text, err := os.ReadFile(audit)
			if n := strings.Count(string(text), "\n"); err != nil || n != 1 {
				return fmt.Errorf("the audit has %d lines: %w", n, err)
			}
			say(os.Stdout, "", "")
			say(os.Stdout, "", "One instance died, the call completed, and the audit has 1 line.")
			return nil
		}
		responses := map[string]any{}
		for _, q := range reply.Asks {
			responses[q.Key] = map[string]any{"action": "accept", "content": map[string]any{q.Key: answers[q.Key]}}
			say(os.Stdout, "client", "is asked %q, answers %q", q.Message, answers[q.Key])
		}
		r.State, r.Responses = reply.State, responses
	}
}
