package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Options configure [Run]. A nil *Options is the zero value.
type Options struct {
	// Patience is how long an answer is waited for. Zero means ten seconds.
	Patience time.Duration
	// Limit is how long the whole run may take. Zero means ten minutes. A rule
	// that was not tried by then is a finding.
	Limit time.Duration
	// Arguments are good arguments of tools, by the tool's name. For other tools
	// they are the first of the input schema's examples, or are made from it.
	Arguments map[string]map[string]any
	// Progress, if set, gets each finding as it is made.
	Progress func(Finding)
}

func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Patience < 0 || r.Limit < 0 {
		return r, errors.New("probe: negative patience or limit")
	}
	if r.Patience == 0 {
		r.Patience = 10 * time.Second
	}
	if r.Limit == 0 {
		r.Limit = 10 * time.Minute
	}
	return r, nil
}

const (
	maxTools = 1000
	maxPages = 100
)

// Probe reaches a server and tries every rule as a client of the era, which can be
// asked by form in both. An error means that there is no server: nothing listens,
// or the command does not start. A server that does not shake hands is a finding.
func Probe(ctx context.Context, dial Dialer, era Era, opts *Options) (*Report, error) {
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	dialing, cancel := context.WithTimeout(ctx, o.Patience)
	as, user := As(era), &user{}
	if era == Legacy { // [Probe] can be asked; a client of [Run] as it says itself
		as.Capabilities, as.Answers = wire.FormOnly, wire.Answers{"*": user.answer}
	}
	client, err := dial(dialing, as)
	cancel()
	var handshake *handshakeError
	switch {
	case errors.As(err, &handshake):
		r := &run{report: &Report{Era: era}, progress: o.Progress}
		r.found(Finding{Rule: ruleHandshake, Fault: err.Error()})
		return r.report, nil
	case err != nil:
		return nil, err
	}
	defer client.Close()
	return runAs(ctx, client, user, o)
}

// Run tries every rule on every read-only tool, as the client that is given; see
// [As]. Whatever the server does is a finding, and one that makes going on useless
// ends the run. An error means that nothing could be tried: no server listens, or
// none of its tools is read-only.
func Run(ctx context.Context, client *wire.Client, opts *Options) (*Report, error) {
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	return runAs(ctx, client, &user{}, o)
}

func runAs(ctx context.Context, client *wire.Client, user *user, o Options) (*Report, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	r := &run{client: client, user: user, patience: o.Patience, progress: o.Progress, report: &Report{Era: eraOf(client)}}
	tools, err := r.tools(ctx)
	if err != nil {
		if unreachable(err) {
			return nil, err
		}
		r.found(Finding{Rule: ruleList, Fault: err.Error()})
	}
	if len(tools) == 0 && r.report.Faults() > 0 {
		return r.report, nil
	}
	tried := 0
	for _, t := range tools {
		if !t.Annotations.ReadOnlyHint {
			r.report.Skipped = append(r.report.Skipped, clean(t.Name))
			continue
		}
		tried++
		t.known = o.Arguments[t.Name]
		if err := t.read(); err != nil {
			r.found(Finding{Tool: t.Name, Rule: ruleList, Fault: err.Error()})
			continue
		}
		if !r.try(ctx, t) {
			r.late(ctx)
			return r.report, nil
		}
	}
	if tried == 0 {
		return nil, fmt.Errorf("probe: none of the server's %d tools is annotated read-only", len(tools))
	}
	r.server(ctx)
	r.late(ctx)
	return r.report, nil
}

type run struct {
	client   *wire.Client
	user     *user
	patience time.Duration
	progress func(Finding)
	report   *Report
	open     bool // a stream that stays open was reported
}

// late reports a run that its limit ended.
func (r *run) late(ctx context.Context) {
	if ctx.Err() != nil {
		r.found(Finding{Rule: ruleTime, Fault: "the probe ended before every rule was tried: " + ctx.Err().Error()})
	}
}

// ask sends a request and returns the response, without waiting longer than
// Patience for anything: not for a server that does not read either, where the
// sending itself blocks.
func (r *run) ask(ctx context.Context, request wire.Request) (*jsonrpc.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel() // hangs up on a stream that is open still
	type started struct {
		pending *wire.Pending
		err     error
	}
	sent := make(chan started, 1)
	go func() {
		p, err := r.client.Start(ctx, request)
		sent <- started{p, err}
	}()
	var s started
	select {
	case s = <-sent:
	case <-ctx.Done():
		return nil, fmt.Errorf("the server does not read: %w", ctx.Err())
	}
	if s.err != nil {
		return nil, s.err
	}
	res, err := s.pending.Response(ctx)
	if err != nil || s.pending.Stream() == nil || r.open {
		return res, err
	}
	// A second answer would come on the same stream.
	closing := time.NewTimer(min(r.patience, time.Second))
	defer closing.Stop()
	select {
	case <-s.pending.Stream():
	case <-closing.C:
		r.open = true
		r.found(Finding{Rule: ruleStream, Fault: "the stream of a response stays open after the answer"})
	}
	return res, nil
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

func (r *run) found(f Finding) {
	r.report.add(f)
	if r.progress != nil {
		r.progress(f)
	}
}

// tools are those that the server lists, without the entries that are none, which
// are findings. With an error it returns those that it has.
func (r *run) tools(ctx context.Context) ([]*tool, error) {
	var all []*tool
	cursor := ""
	seen := map[string]bool{}
	for range maxPages {
		res, err := r.list(ctx, cursor)
		if err == nil {
			err = res.Error
		}
		if err != nil {
			return all, fmt.Errorf("probe: tools/list: %w", err)
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(res.Result, &page); err != nil {
			return all, fmt.Errorf("probe: tools/list: %w", err)
		}
		broken := 0
		for i, raw := range page.Tools {
			if len(all) == maxTools {
				return all, fmt.Errorf("it lists more than %d tools; the rest was not tried", maxTools)
			}
			t, err := readTool(raw)
			if err == nil {
				all = append(all, t)
			} else if broken++; broken <= 10 {
				r.found(Finding{Rule: ruleList, Fault: fmt.Sprintf("tools[%d] is no tool: %v", i, err)})
			}
		}
		if broken > 10 {
			r.found(Finding{Rule: ruleList, Fault: fmt.Sprintf("%d more entries are no tools", broken-10)})
		}
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
		if seen[cursor] {
			return all, fmt.Errorf("the cursor %q comes again", cursor)
		}
		seen[cursor] = true
	}
	return all, fmt.Errorf("it has no end after %d pages", maxPages)
}

// try applies the rules to one tool. It is false once the server answers nothing
// any more.
func (r *run) try(ctx context.Context, t *tool) bool {
	for _, rule := range rules {
		if ctx.Err() != nil {
			return false
		}
		args, applies, err := rule.arguments(t)
		if !applies {
			continue
		}
		f := Finding{Tool: t.Name, Rule: rule.name}
		if err != nil {
			f.Unproved = "no arguments to call it with: " + err.Error()
			r.found(f)
			continue
		}
		r.call(ctx, rule, t, args, &f)
		r.found(f)
		if _, err := r.list(ctx, ""); err != nil {
			r.found(Finding{Tool: t.Name, Rule: ruleNext, Fault: fmt.Sprintf("after %s the server answers no more: %v", rule.name, err)})
			return false
		}
	}
	return true
}

// call makes one call, with all of its rounds where it is a good one, and judges
// how it ended.
func (r *run) call(ctx context.Context, rule rule, t *tool, args any, f *Finding) {
	r.user.begin()
	res, err := r.ask(ctx, wire.Request{Name: t.Name, Arguments: args})
	if wrong := r.user.wrong(); wrong != nil {
		var unproved *unprovedError
		if errors.As(wrong, &unproved) {
			f.Unproved = wrong.Error()
		} else {
			f.Fault = wrong.Error()
		}
		return
	}
	if err != nil {
		f.Fault = "no answer: " + err.Error()
		return
	}
	if rule.name == ruleGoodInput {
		res, err = r.follow(ctx, t, args, res)
		var unproved *unprovedError
		if errors.As(err, &unproved) {
			f.Unproved = err.Error()
			return
		} else if err != nil {
			f.Fault = err.Error()
			return
		}
	}
	outcome, err := judgeSafely(r.report.Era, res, t.output)
	if err != nil {
		f.Fault = err.Error()
		return
	}
	raw := string(res.Result)
	if res.Error != nil {
		raw = res.Error.Error()
	}
	f.Result, f.Fault = string(outcome), rule.judge(outcome, raw)
	if rule.name != ruleGoodInput || f.Fault != "" {
		return
	}
	switch {
	case outcome == ErrorResult:
		f.Unproved = "the call ended in an error, and nothing says that it should not; give arguments that work: " + textOf(res.Result)
	case outcome == Complete && t.unjudged != "":
		f.Unproved = t.unjudged
	}
}

// judgeSafely is Judge, and survives a schema that the library panics on.
func judgeSafely(era Era, res *jsonrpc.Response, output *jsonschema.Resolved) (o Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the result cannot be judged by the tool's output schema: %v", p)
		}
	}()
	return Judge(era, res, output)
}

func textOf(result json.RawMessage) string {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(result, &r) // it was judged
	var b strings.Builder
	for _, block := range r.Content {
		b.WriteString(block.Text)
	}
	return b.String()
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
