package model

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/tasks"
)

// Members of the _meta of requests and results, for the tests alone.
const (
	requestTag = "model/request"
	reasonTag  = "model/reason"
)

// The instances. The first two share their keys and their audience; the third has
// the keys and another audience.
const (
	instances = 3
	elsewhere = 2
)

var instanceNames = [instances]string{"A", "B", "elsewhere"}

var users = [3]string{"ana", "ben", "cho"}

// capabilities are those that a client may declare.
var capabilities = []wire.Capabilities{wire.Everything, wire.Nothing, wire.URLOnly}

// declares reports whether a client with capabilities[caps] can be asked over a
// medium.
func declares(caps int, m medium) bool {
	switch capabilities[caps] {
	case wire.Everything:
		return true
	case wire.URLOnly:
		return m == url
	}
	return false
}

// site is the whole deployment: the instances, the desk behind them, and the
// clients that are connected.
type site struct {
	tools     []*tool
	desk      *desk
	store     *records // of the first two instances, nil if they have none
	keys      []statecodec.Key
	instances [instances]*instance
	closing   error // of the instances that were closed
}

// instance is one process that serves the tools, with one wording of their
// questions.
type instance struct {
	runtime *mrtr.Runtime
	link    *link
	server  *mcp.Server
	tasks   *tasks.Manager
	worded  int
	clients map[caller]*wire.Client
	hungUp  int // requests whose clients did not wait for their answers
}

// caller is a client: its user, its capabilities and its era.
type caller struct {
	user, caps int
	legacy     bool
	tasks      bool
}

// schemas spares every server to resolve the tools' schemas again.
var schemas = mcp.NewSchemaCache()

func openSite(tools []*tool, stored bool) *site {
	s := &site{tools: tools, desk: &desk{}, keys: []statecodec.Key{statecodec.GenerateKey()}}
	if stored {
		s.store = newRecords()
	}
	return s
}

// instance is the instance at a place, started when it is first looked for.
func (s *site) instance(at int) *instance {
	if s.instances[at] == nil {
		s.instances[at] = s.start(at, 0)
	}
	return s.instances[at]
}

// restart replaces an instance by one that has nothing but the keys in common with
// it.
func (s *site) restart(at, worded int) {
	s.stop(at)
	s.instances[at] = s.start(at, worded)
}

func (s *site) start(at, worded int) *instance {
	o := &mrtr.Options{State: &statecodec.Options{Keys: s.keys}, Audience: "desk", Principal: principal}
	if at == elsewhere {
		o.Audience = "another desk"
	}
	l := &link{}
	if s.store != nil && at != elsewhere {
		o.Durable = durable.In(l.to(s.store), nil)
	}
	rt, err := mrtr.New(o)
	if err != nil {
		panic(err) // these options are good
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
	for _, t := range s.tools {
		tool := mrtr.Tool(rt, t.build(&door{s.desk, l}, worded), &mrtr.HandlerOptions{Version: strconv.Itoa(worded), Within: roundTime, Task: atOnce})
		mrtr.AddTool(server, &mcp.Tool{Name: t.name}, tool)
	}
	server.AddReceivingMiddleware(tellReason, s.desk.hangsUp)
	manager, err := tasks.Install(server, &tasks.Options{Runtime: rt})
	if err != nil {
		panic(err)
	}
	return &instance{runtime: rt, link: l, server: server, tasks: manager, worded: worded, clients: map[caller]*wire.Client{}}
}

// stop ends an instance and the connections of its clients.
func (s *site) stop(at int) {
	i := s.instances[at]
	if i == nil {
		return
	}
	s.closing = errors.Join(s.closing, i.tasks.Close(), i.runtime.Close())
	for who, client := range i.clients {
		if n := client.Surplus(); n > i.hungUp {
			s.closing = errors.Join(s.closing, fmt.Errorf("%s got %d responses beyond one for each request", users[who.user], n))
		}
		s.closing = errors.Join(s.closing, client.Close())
	}
	s.instances[at] = nil
}

// close ends everything and returns the errors on the way.
func (s *site) close() error {
	for at := range s.instances {
		s.stop(at)
	}
	return s.closing
}

// client connects a caller, once.
func (s *site) client(ctx context.Context, at int, who caller) (*wire.Client, error) {
	i := s.instance(at)
	if client := i.clients[who]; client != nil {
		return client, nil
	}
	o := &wire.Options{Name: users[who.user], Capabilities: capabilities[who.caps], TakesTasks: who.tasks}
	if who.legacy {
		o.Version = wire.Legacy
	}
	client, err := wire.Connect(ctx, i.server, o)
	if err == nil {
		i.clients[who] = client
	}
	return client, err
}

// principal takes a client's name for its user. A connection in memory has no
// better proof.
func principal(_ context.Context, req mcp.Request) (string, error) {
	if info, ok := req.GetParams().GetMeta()[mcp.MetaKeyClientInfo].(map[string]any); ok {
		if name, ok := info["name"].(string); ok {
			return name, nil
		}
	}
	if session, ok := req.GetSession().(*mcp.ServerSession); ok && session.InitializeParams() != nil {
		return session.InitializeParams().ClientInfo.Name, nil
	}
	return "", errors.New("a request without a client's name")
}

// tellReason puts the reason of an error result beside its text, so that the model
// need not read texts. A panic of the engine becomes an error that no call has,
// rather than the end of the process without a story.
func tellReason(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				res, err = nil, fmt.Errorf("the engine panicked: %v", v)
			}
		}()
		res, err = next(ctx, method, req)
		if called, ok := res.(*mcp.CallToolResult); ok && err == nil && called.IsError {
			if called.Meta == nil {
				called.Meta = mcp.Meta{}
			}
			called.Meta[reasonTag] = reasonOf(called.GetError())
		}
		return res, err
	}
}

func reasonOf(err error) string {
	var typed interface{ ToolErrorType() string }
	switch {
	case errors.As(err, &typed):
		var quiet interface{ ToolErrorQuiet() bool }
		reason := typed.ToolErrorType()
		if (reason == stopDeclined || reason == stopCancelled) && !(errors.As(err, &quiet) && quiet.ToolErrorQuiet()) {
			return reason + ", as if somebody were at fault"
		}
		return reason
	case err == nil:
		return "an error result without an error"
	}
	return failedEffect
}
