package main

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// addTasks registers the tools of the tasks extension. A policy is all that makes one of
// them a task.
func addTasks(s *mcp.Server, rt *mrtr.Runtime) {
	atOnce := &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}
	add(s, "greet", "Greets, and is no task.", mrtr.Tool(rt, mrtr.Native(hello), nil))
	add(s, "slow_compute", "Takes the seconds that the arguments say.", mrtr.Tool(rt, mrtr.Native(compute), atOnce))
	add(s, "failing_job", "Works and fails.", mrtr.Tool(rt, mrtr.Native(failJob), &mrtr.HandlerOptions{
		Task: mrtr.TaskPolicy{AtOnce: true, Required: true},
	}))
	add(s, "protocol_error_job", "Ends with an error of the protocol.", mrtr.Tool(rt, mrtr.Native(breakJob), atOnce))
	add(s, "confirm_delete", "Asks before it deletes.", mrtr.Tool(rt, mrtr.Native(deleteFile), atOnce))
	add(s, "multi_input", "Asks two questions at once.", mrtr.Tool(rt, mrtr.Native(pair), atOnce))
	add(s, "test_tool_with_task", "Asks for a name, and is a task from there on.", mrtr.Tool(rt, mrtr.Native(detach), &mrtr.HandlerOptions{
		Task: mrtr.TaskPolicy{Detached: true, Required: true},
	}))
}

// jobTime is how long a job works, so that it is seen at work.
const jobTime = time.Second

func work(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func hello(_ context.Context, _ *mrtr.Call, in person) (*mrtr.IncompleteResult, said, error) {
	return nil, said{"Hello, " + in.Name + "!"}, nil
}

type effort struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label,omitempty"`
}

func compute(ctx context.Context, _ *mrtr.Call, in effort) (*mrtr.IncompleteResult, said, error) {
	err := work(ctx, time.Duration(in.Seconds*float64(time.Second)))
	return nil, said{"Computed " + in.Label + "."}, err
}

func failJob(ctx context.Context, _ *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	return nil, said{}, errors.Join(work(ctx, jobTime), errors.New("the job failed"))
}

func breakJob(context.Context, *mrtr.Call, nothing) (*mrtr.IncompleteResult, said, error) {
	return nil, said{}, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job broke"}
}

type file struct {
	Filename string `json:"filename"`
}

type confirmation struct {
	Confirm bool `json:"confirm"`
}

var reallyDelete = mrtr.Elicit[confirmation]("delete", "Really delete it?")

func deleteFile(_ context.Context, c *mrtr.Call, in file) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, reallyDelete)
	switch {
	case !ok:
		return mrtr.Need(reallyDelete), said{}, nil
	case !answer.Confirm:
		return nil, said{"Kept " + in.Filename + "."}, nil
	}
	return nil, said{"Deleted " + in.Filename + "."}, nil
}

type signature struct {
	Name    string `json:"name"`
	Confirm bool   `json:"confirm"`
}

var (
	firstSignature  = mrtr.Elicit[signature]("first", "Who signs first?")
	secondSignature = mrtr.Elicit[signature]("second", "Who signs second?")
)

func pair(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	first, one := mrtr.Answer(c, firstSignature)
	second, two := mrtr.Answer(c, secondSignature)
	if !one || !two {
		return mrtr.Need(firstSignature, secondSignature), said{}, nil
	}
	return nil, said{"Signed by " + first.Name + " and " + second.Name + "."}, nil
}

func detach(ctx context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, ok := mrtr.Answer(c, whoAreYou)
	if !ok {
		return mrtr.Need(whoAreYou), said{}, nil
	}
	c.Detach()
	return nil, said{"Hello, " + user.Name + "!"}, work(ctx, jobTime) // one that ends at once needs no task
}
