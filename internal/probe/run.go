package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Options configure [Run]. A nil *Options is the zero value.
type Options struct {
	// Patience is how long an answer is waited for. Zero means ten seconds.
	Patience time.Duration
}

// A Finding is the outcome of one rule on one tool.
type Finding struct {
	Tool   string `json:"tool,omitempty"` // empty for what concerns the server
	Rule   string `json:"rule"`
	Fault  string `json:"fault,omitempty"` // empty if the rule was kept
	Result string `json:"result,omitempty"`
}

// A Report is all that was found, in the order it was tried.
type Report struct {
	Era      Era       `json:"era"`
	Findings []Finding `json:"findings"`
	Skipped  []string  `json:"skipped,omitempty"` // tools that are not read-only
}

// Faults is the number of rules that were broken.
func (r *Report) Faults() int {
	n := 0
	for _, f := range r.Findings {
		if f.Fault != "" {
			n++
		}
	}
	return n
}

// String writes one line per finding.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		name := f.Tool
		if name == "" {
			name = "(server)"
		}
		mark, said := "ok   ", f.Result
		if f.Fault != "" {
			mark, said = "FAULT", f.Fault
		}
		fmt.Fprintf(&b, "%s %-20s %-18s %s\n", mark, name, f.Rule, said)
	}
	for _, name := range r.Skipped {
		fmt.Fprintf(&b, "skip  %-20s not read-only\n", name)
	}
	fmt.Fprintf(&b, "%s: %d rules tried, %d broken\n", r.Era, len(r.Findings), r.Faults())
	return b.String()
}

// Run tries every rule on every read-only tool, as the client that is given; see
// [As]. An error means that the server
// could not be probed at all: it does not list its tools, or has none that is
// read-only. A server that dies on the way is a finding and ends the run.
func Run(ctx context.Context, client *wire.Client, opts *Options) (*Report, error) {
	r := &run{client: client, patience: 10 * time.Second, report: &Report{Era: eraOf(client)}}
	if opts != nil && opts.Patience < 0 {
		return nil, errors.New("probe: negative patience")
	}
	if opts != nil && opts.Patience > 0 {
		r.patience = opts.Patience
	}
	tools, err := r.tools(ctx)
	if err != nil {
		return nil, err
	}
	tried := 0
	for _, t := range tools {
		if !t.Annotations.ReadOnlyHint {
			r.report.Skipped = append(r.report.Skipped, t.Name)
			continue
		}
		tried++
		t.read()
		if !r.try(ctx, t) {
			return r.report, nil
		}
	}
	if tried == 0 {
		return nil, fmt.Errorf("probe: none of the server's %d tools is annotated read-only", len(tools))
	}
	r.server(ctx)
	return r.report, nil
}

type run struct {
	client   *wire.Client
	patience time.Duration
	report   *Report
}

func (r *run) ask(ctx context.Context, request wire.Request) (*jsonrpc.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	return r.client.Exchange(ctx, request)
}

// list asks for a page of the tools.
func (r *run) list(ctx context.Context, cursor string) (*jsonrpc.Response, error) {
	params := map[string]any{}
	if meta := r.client.Meta(); meta != nil {
		params["_meta"] = meta
	}
	if cursor != "" {
		params["cursor"] = cursor
	}
	return r.ask(ctx, wire.Request{Method: "tools/list", Params: params})
}

func (r *run) found(f Finding) { r.report.Findings = append(r.report.Findings, f) }

func (r *run) tools(ctx context.Context) ([]*tool, error) {
	const maxPages = 1000
	var all []*tool
	cursor := ""
	for range maxPages {
		res, err := r.list(ctx, cursor)
		if err == nil {
			err = res.Error
		}
		if err != nil {
			return nil, fmt.Errorf("probe: tools/list: %w", err)
		}
		var page struct {
			Tools      []*tool `json:"tools"`
			NextCursor string  `json:"nextCursor"`
		}
		if err := json.Unmarshal(res.Result, &page); err != nil {
			return nil, fmt.Errorf("probe: tools/list: %w", err)
		}
		all = append(all, page.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("probe: tools/list has no end after %d pages", maxPages)
}

// try applies the rules to one tool. It is false once the server answers nothing
// any more.
func (r *run) try(ctx context.Context, t *tool) bool {
	for _, rule := range rules {
		args, applies := rule.arguments(t)
		if !applies {
			continue
		}
		f := Finding{Tool: t.Name, Rule: rule.name}
		res, err := r.ask(ctx, wire.Request{Name: t.Name, Arguments: args})
		if err != nil {
			f.Fault = "no answer: " + err.Error()
		} else {
			f.Result, f.Fault = r.verdict(rule, t, res)
		}
		r.found(f)
		if _, err := r.list(ctx, ""); err != nil {
			r.found(Finding{Tool: t.Name, Rule: ruleNext, Fault: fmt.Sprintf("after %s the server answers no more: %v", rule.name, err)})
			return false
		}
	}
	return true
}

func (r *run) verdict(rule rule, t *tool, res *jsonrpc.Response) (result, fault string) {
	outcome, err := Judge(r.report.Era, res, t.output)
	if err != nil {
		return "", err.Error()
	}
	raw := string(res.Result)
	if res.Error != nil {
		raw = res.Error.Error()
	}
	return string(outcome), rule.judge(outcome, raw)
}

// server tries the rules that concern no tool in particular.
func (r *run) server(ctx context.Context) {
	f := Finding{Rule: ruleUnknownTool}
	res, err := r.ask(ctx, wire.Request{Name: "no_such_tool", Arguments: map[string]any{}})
	if err != nil {
		f.Fault = "no answer: " + err.Error()
	} else if outcome, err := Judge(r.report.Era, res, nil); err != nil {
		f.Fault = err.Error()
	} else if f.Result = string(outcome); outcome != ProtocolError {
		f.Fault = fmt.Sprintf("it ended as %s", outcome)
	}
	r.found(f)

	f = Finding{Rule: ruleOnce, Result: "no surplus"}
	if n := r.client.Surplus(); n > 0 {
		f.Fault = fmt.Sprintf("%d answers came that nothing waited for", n)
	}
	r.found(f)
}
