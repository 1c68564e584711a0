package mrtrtest

import (
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Build makes a new instance of the server under test, for a deployment.
type Build = func(*World) *mcp.Server

// A Deployment runs instances of a server under test. They share its secrets, its store
// and whatever is [Shared], as the processes of one deployment do. [Call] makes a deployment
// for each call. Make one yourself to bring another client, or to decide when an instance
// starts and ends:
//
//	home := &mrtrtest.Deployment{Name: "home", Build: newDesk}
//	instance, err := home.Start()
//	...
//	transport, err := instance.Connect(ctx, "ada")
//	...
//	session, err := client.Connect(ctx, transport, nil)
//
// Stop the instances before you close the deployment. Its methods may be called from any
// goroutine.
type Deployment struct {
	Name  string // deployments of different names have different secrets
	Build Build

	// during, if set, says in which request of the call something happens, and
	// after how many messages of it.
	during func() (request, message int)

	mu      sync.Mutex
	effects []effect
	crash   <-chan struct{} // if set, an instance dies of its next effect until this closes
	shared  map[string]any
	closers []io.Closer
}

// Start builds an instance.
func (d *Deployment) Start() (*Instance, error) {
	i := &Instance{world: &World{Deployment: d.Name, deployment: d}, sessions: map[*mcp.ServerSession]mcp.Connection{}}
	i.world.die = i.die
	i.server = d.Build(i.world)
	if i.server == nil {
		i.world.stop()
		return nil, errors.New("mrtrtest: build returned no server")
	}
	i.server.AddReceivingMiddleware(i.survive)
	return i, nil
}

// Effects counts the effects of all instances so far, by name. One that was undone counts
// as none.
func (d *Deployment) Effects() map[string]int {
	count := map[string]int{}
	for _, e := range d.all() {
		if e.undone {
			count[e.name]--
		} else {
			count[e.name]++
		}
	}
	return count
}

// CrashAtEffect ends an instance at its next effect, as if its process had died there: its
// connections break, and its call of [World.Effect] does not return before over is closed. A
// nil channel ends no instance any more.
func (d *Deployment) CrashAtEffect(over <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crash = over
}

// Close closes what is [Shared].
func (d *Deployment) Close() (err error) {
	d.mu.Lock()
	closers := d.closers
	d.closers = nil
	d.mu.Unlock()
	for _, c := range slices.Backward(closers) {
		if failed := c.Close(); err == nil {
			err = failed
		}
	}
	return err
}

// effect is one effect of a call.
type effect struct {
	name    string
	undone  bool
	request int // in which it happened, counted from 1; 0 if that is not known
	message int // how many requests and responses had been exchanged by then
}

// String names the effect as tests do.
func (e effect) String() string {
	if e.undone {
		return "undo " + e.name
	}
	return e.name
}

// happened records an effect, or that it was undone. Its instance dies of it if the channel is not nil.
func (d *Deployment) happened(e effect) <-chan struct{} {
	if d.during != nil {
		e.request, e.message = d.during()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.effects = append(d.effects, e)
	return d.crash
}

// all are the effects so far.
func (d *Deployment) all() []effect {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.effects)
}
