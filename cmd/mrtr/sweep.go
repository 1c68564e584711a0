package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/mrtr-go/sdk/prove"
)

// inASweep are the flags that a sweep knows. Those of onlySweep the proof of one
// tool does not.
var (
	inASweep  = []string{"arguments", "client", "json", "junit", "limit", "patience", "token"}
	onlySweep = []string{"client"}
)

// fits says which flag has no meaning in a sweep, or in a proof.
func (p *proof) fits(sweeps bool) error {
	for _, name := range p.given {
		if sweeps && !slices.Contains(inASweep, name) {
			return fmt.Errorf("-%s is for the proof of one tool: -tool is missing", name)
		}
		if !sweeps && slices.Contains(onlySweep, name) {
			return fmt.Errorf("-%s is for a sweep, without -tool", name)
		}
	}
	return nil
}

// sweep calls all tools that are read-only.
func (p *proof) sweep(ctx context.Context, subject prove.Subject, next func(prove.Finding)) (reported, error) {
	opts := &prove.SweepOptions{Patience: p.options.Patience, Limit: p.limit, Progress: next, Arguments: map[string]map[string]any{}}
	for tool, given := range p.arguments {
		arguments, ok := given.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the -arguments of %s are no JSON object", tool)
		}
		opts.Arguments[tool] = arguments
	}
	switch p.client {
	case "":
	case "modern", "legacy":
		opts.Clients = []string{p.client}
	default:
		return nil, fmt.Errorf("there is no client %q: modern or legacy", p.client)
	}
	reports, err := prove.Sweep(ctx, subject.Dial, subject.First, opts)
	if len(reports) == 0 {
		return nil, err
	}
	return reports, err
}
