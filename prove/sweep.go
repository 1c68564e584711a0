package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// SweepOptions configure [Sweep]. Nil, and the zero value, sweep as a modern and as
// a legacy client.
type SweepOptions struct {
	// Patience is how long one answer is waited for; zero is ten seconds.
	Patience time.Duration
	// Limit is how long the sweep may take as one of the clients; zero is ten
	// minutes. A rule that was not tried by then is a failure.
	Limit time.Duration
	// Clients are the kinds of clients that sweep, "modern" and "legacy"; none means
	// both.
	Clients []string
	// Arguments are good arguments of tools, by the tool's name. For other tools
	// they are the first of the input schema's examples, or are made from it.
	Arguments map[string]map[string]any
	// Dry runs say what they would do, and call no tool.
	Dry bool
	// Progress, if set, gets each finding as it is made.
	Progress func(Finding)
}

func (o SweepOptions) resolved() (SweepOptions, error) {
	if o.Patience < 0 || o.Limit < 0 {
		return o, errors.New("prove: negative patience or limit")
	}
	o.Patience, o.Limit = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.Limit, 10*time.Minute)
	if len(o.Clients) == 0 {
		o.Clients = []string{string(judge.Modern), string(judge.Legacy)}
	}
	for _, name := range o.Clients {
		if era := judge.Era(name); era != judge.Modern && era != judge.Legacy {
			return o, fmt.Errorf("prove: there is no client %q", name)
		}
	}
	return o, nil
}

// Sweep calls every tool that is annotated read-only, with good arguments and with
// bad ones, and answers its questions. It makes one report for each tool and kind of
// client, and one without a name for the server. Other tools are never called: they
// are skipped.
//
// An error means that nothing could be swept as one of the clients: there is no
// server, or none of its tools is read-only. The reports are those of the other.
// When ctx ends, the reports come with its error.
func Sweep(ctx context.Context, dial Dial, who *Caller, opts *SweepOptions) (Reports, error) {
	var o SweepOptions
	if opts != nil {
		o = *opts
	}
	if dial == nil {
		return nil, errors.New("prove: a sweep needs a Dial")
	}
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	var all Reports
	var failed []error
	for _, name := range o.Clients {
		s := &sweeper{prover: &prover{patience: o.Patience, era: judge.Era(name)}, opts: o}
		if err := s.run(ctx, dial, who); err != nil {
			failed = append(failed, fmt.Errorf("%s client: %w", name, err))
			continue
		}
		all = append(all, s.reports...)
	}
	return all, errors.Join(append(failed, ctx.Err())...)
}

// sweeper is one of the clients of a sweep. All of its calls go over one connection.
type sweeper struct {
	*prover
	opts    SweepOptions
	user    user
	reports Reports
	opened  bool // an open stream was reported
}

// run tries every rule. Whatever the server does is a finding, and one that makes going
// on useless ends the run. An error means that nothing could be tried.
func (s *sweeper) run(ctx context.Context, dial Dial, who *Caller) error {
	dialing, cancel := context.WithTimeout(ctx, s.patience)
	c, err := connect(dialing, dial, who, s.client())
	cancel()
	var handshake *wire.HandshakeError
	switch {
	case errors.As(err, &handshake) && refusesLegacy(err):
		s.found("", Finding{Rule: shakesHands, Outcome: Skip, Detail: "the server refuses legacy clients, as it may: " + err.Error()})
		return nil
	case errors.As(err, &handshake) && !unreachable(err):
		s.found("", Finding{Rule: shakesHands, Outcome: Fail, Detail: err.Error()})
		return nil
	case err != nil:
		return err
	}
	defer c.hangUp()
	s.shared = c.client
	ctx, cancel = context.WithTimeout(ctx, s.opts.Limit)
	defer cancel()
	if s.era == judge.Modern && s.legacyOnly(ctx) {
		s.found("", Finding{Rule: discovers, Outcome: Skip, Detail: "the server speaks no modern revision, as it may"})
		return nil
	}
	listed, err := s.tools(ctx)
	if err != nil || len(listed) == 0 && len(s.reports) > 0 {
		return err
	}
	tried := 0
	for _, tool := range listed {
		if !tool.Annotations.ReadOnlyHint {
			s.add(tool.Name, Finding{Rule: readOnlyAlone, Outcome: Skip, Detail: "not called: it is not annotated read-only"}) // which is no progress
			continue
		}
		tried++
		if !s.tryTool(ctx, tool) {
			s.late(ctx)
			return nil
		}
	}
	if tried == 0 {
		return fmt.Errorf("none of the server's %d tools is annotated read-only", len(listed))
	}
	for _, rule := range serverSweepRules {
		s.try(ctx, "", rule)
	}
	s.late(ctx)
	return nil
}

// refusesLegacy reports whether the handshake was answered by an error, which tells a legacy
// client what to do.
func refusesLegacy(err error) bool {
	var answer *jsonrpc.Error
	var status *wire.StatusError
	return errors.As(err, &answer) || errors.As(err, &status) && status.Code/100 == 4
}

// legacyOnly reports whether the server is of another era: it answers modern requests as a legacy
// server may, which knows neither server/discover nor a resultType.
func (s *sweeper) legacyOnly(ctx context.Context) (legacy bool) {
	s.prover.try(ctx, Rule{try: func(t *trial) {
		c := t.client()
		if !t.discover(c).protocol() {
			return
		}
		listed := t.listPage(c, "")
		if listed.protocol() { // a session is missing, say; a wrong token or path says nothing
			code := listed.reply.Error.Code
			legacy = code < 0 || code == http.StatusBadRequest
			return
		}
		legacy = listed.reply != nil && listed.reply.ResultType == ""
	}})
	return legacy
}

// client can be asked by form.
func (s *sweeper) client() *wire.Options {
	as := &wire.Options{Unrecorded: true, Capabilities: wire.FormOnly}
	if s.era == judge.Legacy {
		as.Version, as.Answers = wire.Legacy, wire.Answers{"*": s.user.answer}
	}
	return as
}

// tools are those that the server lists. The entries that are no tools are findings.
func (s *sweeper) tools(ctx context.Context) (all []*tool, err error) {
	var faults []error
	s.prover.try(ctx, Rule{try: func(t *trial) {
		l := t.list(t.client(), maxSwept)
		all, faults = l.tools, l.broken
		if l.more > 0 {
			faults = append(faults, fmt.Errorf("%d more entries are no tools", l.more))
		}
		if l.err != nil {
			faults = append(faults, l.err)
		}
		if unreachable(l.last.err) {
			err = l.err
		}
	}})
	s.streams()
	for _, fault := range faults {
		s.found("", Finding{Rule: listsTools, Outcome: Fail, Detail: fault.Error()})
	}
	return all, err
}

// maxSwept is how many tools a sweep tries.
const maxSwept = 1000

// tryTool tries the rules on one tool. It is false once the server answers nothing any
// more.
func (s *sweeper) tryTool(ctx context.Context, tool *tool) bool {
	if tool.readSchemas(); tool.input == nil {
		s.found(tool.Name, Finding{Rule: listsTools, Outcome: Fail, Detail: fmt.Sprintf("its inputSchema does not read: %v", tool.inputErr)})
		return true
	}
	rules, calls := s.on(tool)
	if s.opts.Dry {
		s.report(tool.Name).Calls = calls
	}
	for _, rule := range rules {
		if ctx.Err() != nil {
			return false
		}
		s.try(ctx, tool.Name, rule)
		if s.opts.Dry {
			continue
		}
		var answers exchange
		s.prover.try(ctx, Rule{try: func(t *trial) { answers = t.listPage(t.client(), "") }})
		if s.streams(); answers.reply == nil {
			s.found(tool.Name, Finding{Rule: answersNext, Outcome: Fail, Detail: fmt.Sprintf("after %s the server answers no more: %v", rule.Name, answers.err)})
			return false
		}
	}
	return true
}

func (s *sweeper) try(ctx context.Context, tool string, rule Rule) {
	if s.opts.Dry {
		s.add(tool, toTry(rule))
		return
	}
	s.calls.Store(0)
	f := s.prover.try(ctx, rule)
	s.streams()
	s.found(tool, f)
	s.report(tool).Calls += int(s.calls.Load())
}

// streams reports a stream that stayed open after its answer, once.
func (s *sweeper) streams() {
	if s.openStream.Load() && !s.opened {
		s.opened = true
		s.found("", Finding{Rule: endsStreams, Outcome: Fail, Detail: "the stream of a response stays open after the answer"})
	}
}

// late reports a sweep that its limit ended.
func (s *sweeper) late(ctx context.Context) {
	if ctx.Err() != nil {
		s.found("", Finding{Rule: endsInTime, Outcome: Fail, Detail: "the sweep ended before every rule was tried: " + ctx.Err().Error()})
	}
}

func (s *sweeper) found(tool string, f Finding) {
	f.Detail = clean(f.Detail)
	s.add(tool, f)
	if s.opts.Progress != nil {
		s.opts.Progress(f)
	}
}

// add puts a finding into the report about the tool, or about the server.
func (s *sweeper) add(tool string, f Finding) {
	r := s.report(tool)
	r.Findings = append(r.Findings, f)
}

// report is the one about the tool, or about the server.
func (s *sweeper) report(tool string) *Report {
	tool = clean(tool)
	for _, r := range s.reports {
		if r.Tool == tool {
			return r
		}
	}
	r := &Report{Tool: tool, Client: string(s.era), dry: s.opts.Dry}
	s.reports = append(s.reports, r)
	return r
}
