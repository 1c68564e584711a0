package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mrtr-go/sdk/statecodec"
)

// cluster is everything: the NATS server, the instances and the front.
type cluster struct {
	said      *transcript
	dir       string
	nats      *server.Server
	front     *front
	web       *http.Server
	listener  net.Listener
	instances []*process
	failed    chan error // of the front
	// onNotice, if set, hears every notice before its instance goes on. It may kill it.
	onNotice func(p *process, n notice)
}

const (
	// lease is short, so that nobody waits long for a dead instance.
	lease = 2 * time.Second
	// startTime bounds the start of each part.
	startTime = 20 * time.Second
)

func newCluster(ctx context.Context, count int, address string, said *transcript, onNotice func(*process, notice)) (_ *cluster, err error) {
	c := &cluster{said: said, onNotice: onNotice, failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "weather-cluster"); err != nil {
		return nil, err
	}
	if c.nats, err = startNATS(filepath.Join(c.dir, "nats")); err != nil {
		return nil, err
	}
	s := settings{NATS: c.nats.ClientURL(), Key: statecodec.GenerateKey().Text(), Audit: string(c.audit()), Lease: lease}
	for i := range count {
		p, err := c.start(ctx, i+1, s)
		if err != nil {
			return nil, err
		}
		c.instances = append(c.instances, p)
	}
	c.front = &front{instances: c.instances}
	if c.listener, err = net.Listen("tcp", address); err != nil {
		return nil, err
	}
	c.web = &http.Server{Handler: c.front.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := c.web.Serve(c.listener); !errors.Is(err, http.ErrServerClosed) {
			c.failed <- err
		}
	}()
	return c, nil
}

func (c *cluster) address() string  { return c.listener.Addr().String() }
func (c *cluster) audit() auditFile { return auditFile(filepath.Join(c.dir, "audit")) }

func startNATS(dir string) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	srv.Start()
	if !srv.ReadyForConnections(startTime) {
		srv.Shutdown()
		return nil, errors.New("the NATS server is not ready")
	}
	return srv, nil
}

// process is an instance, seen from outside.
type process struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	address string
	ended   chan struct{}

	mu   sync.Mutex
	dead bool
}

func (c *cluster) start(ctx context.Context, number int, s settings) (*process, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: fmt.Sprintf("instance %d", number), cmd: exec.Command(self), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), instanceVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go c.follow(p, out, ready)
	select {
	case <-ready:
		return p, nil
	case <-p.ended:
		err = fmt.Errorf("%s ended before it was ready", p.name)
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(startTime):
		err = fmt.Errorf("%s is not ready", p.name)
	}
	p.stop()
	return nil, err
}

// follow prints the notices of an instance, and lets it go on.
func (c *cluster) follow(p *process, out io.Reader, ready chan<- struct{}) {
	defer close(p.ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var n notice
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			c.said.say(p.name, "%s", lines.Text())
			continue
		}
		if n.Address != "" {
			p.address = n.Address
			close(ready)
		} else {
			c.said.say(p.name, "%s", n.Did)
			if c.onNotice != nil {
				c.onNotice(p, n)
			}
		}
		if _, err := io.WriteString(p.in, "\n"); err != nil {
			break
		}
	}
	_ = p.cmd.Wait()
	if !p.isDead() { // somebody killed it: the others go on
		p.leave()
		c.said.say(p.name, "ended: %v", p.cmd.ProcessState)
	}
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.leave()
	_ = p.cmd.Process.Kill()
}

// stop lets the process end by itself, and kills it if it does not.
func (p *process) stop() {
	p.leave()
	_ = p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(drain + 2*time.Second):
		p.kill()
		<-p.ended
	}
}

// close stops everything, the front first.
func (c *cluster) close() {
	if c.web != nil {
		_ = c.web.Close()
	}
	var all sync.WaitGroup
	for _, p := range c.instances {
		all.Go(p.stop)
	}
	all.Wait()
	if c.nats != nil {
		c.nats.Shutdown()
		c.nats.WaitForShutdown()
	}
	_ = os.RemoveAll(c.dir)
}
