package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mrtr-go/sdk/prove"
)

// judged is what the prover said of one server.
type judged struct {
	server server
	able   bool // with all abilities
	failed []prove.Finding
	tried  int
	err    error
}

// found says that one of the right rules failed.
func (j judged) found() bool {
	return slices.ContainsFunc(j.failed, func(f prove.Finding) bool { return slices.Contains(j.server.mistake.right(), f.Rule.Name) })
}

// condemned are the failures by rules of the specification.
func (j judged) condemned() (all []prove.Finding) {
	for _, f := range j.failed {
		if f.Rule.Level != prove.Ours {
			all = append(all, f)
		}
	}
	return all
}

func (j judged) got() string {
	if j.err != nil {
		return "nothing proved: " + j.err.Error()
	}
	var names []string
	for _, f := range j.failed {
		names = append(names, f.Rule.Name)
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, " ")
}

// judge proves each server twice. A server with a mistake is proved by its right rules
// alone, unless all are asked for; a correct one by all.
func judge(ctx context.Context, programs map[*language]*program, all []server, full bool, workers int) []judged {
	results := make([]judged, 2*len(all))
	next := make(chan int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range next {
				s, able := all[i/2], i%2 == 0
				results[i] = proveOne(ctx, programs[s.language], s, fmt.Sprintf("run-%d", i), able, full)
			}
		})
	}
	for i := range results {
		next <- i
	}
	close(next)
	done.Wait()
	return results
}

func proveOne(ctx context.Context, p *program, s server, secret string, able, full bool) judged {
	j := judged{server: s, able: able}
	opts := &prove.Options{Only: s.language.rules}
	if !s.correct() && !full {
		opts.Only = s.mistake.right()
	}
	report, err := prove.Run(ctx, p.subject(s, secret, able), scenarioOf(s, able), opts)
	if j.err = err; report != nil {
		j.failed, j.tried = report.Failures(prove.Ours), len(report.Findings)
	}
	return j
}
