package mrtrtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

// Scenario is the call that is proved. Tool is enough if the arguments and the
// answers can be made from the tool's schemas.
type Scenario = prove.Scenario

// Prove tries the rules of package prove against a tool, and two of its own: an
// instance stops soon after its clients have hung up, and leaves no goroutine. Each
// rule is a subtest. One that fails says which promise was broken and shows the
// request that broke it.
//
// The proof runs in a bubble of testing/synctest, where a day is no time at all.
// Build is called there, many times: with the worlds of one deployment, for the
// first instance, for instances that share nothing but its secrets, and for one
// that takes over after a crash; and with the world of another deployment, whose
// states the first must refuse. It takes no channel, timer or network connection
// from outside the bubble.
//
// A crash happens in [World.Effect]: the connections break, and the call of Effect
// does not return before the proof is over. So a tool that has its effect without
// calling Effect is judged without it.
//
// To accept a tool that fails some rules, judge the report of [Examine].
func Prove(t *testing.T, build Build, s Scenario) {
	t.Helper()
	for _, f := range Examine(t, build, s, nil).Findings {
		t.Run(f.Rule.Name, func(t *testing.T) {
			switch f.Outcome {
			case prove.Fail:
				t.Errorf("%s%s", f, advice(f.Detail))
			case prove.Skip:
				t.Skip(f.Detail + advice(f.Detail))
			case prove.Note:
				t.Logf("%s", f)
			}
		})
	}
}

// Examine is [Prove] without its verdict. It fails the test if nothing could be
// proved: the tool has to complete an honest call first. A nil opts tries every
// rule. The default patience is a minute here, since waiting takes no time.
func Examine(t *testing.T, build Build, s Scenario, opts *prove.Options) *prove.Report {
	t.Helper()
	var o prove.Options
	if opts != nil {
		o = *opts
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	var report *prove.Report
	var err error
	inBubble(t, func(t *testing.T) {
		site := newSite(build)
		report, err = prove.Run(t.Context(), site.subject(), s, &o)
		if died := site.died(); err != nil && died != nil {
			err = died
		}
		findings := site.close()
		if report != nil {
			report.Findings = append(report.Findings, findings...)
		}
	})
	if err != nil {
		t.Fatalf("%v%s", err, advice(err.Error()))
	}
	return report
}

// fields are those of a Scenario that say what a finding lacks.
var fields = []struct{ says, set string }{
	{"needs other arguments", "OtherArguments"},
	{"end alike", "OtherArguments or OtherAnswers with which the call ends otherwise"},
	{"needs another tool", "OtherTool"},
	{"times instead of", "Times, if a call means to"},
	{"none was counted", "Times, and call World.Effect"},
	{"does not complete", "Arguments and Answers"},
	{"the call asks nothing", "Arguments with which it asks"},
}

// advice names the field to set, if one helps.
func advice(detail string) string {
	for _, f := range fields {
		if strings.Contains(detail, f.says) {
			return "\n        Set Scenario." + f.set + "."
		}
	}
	return ""
}

// site is where a proof takes place: two deployments of one server, in a bubble.
type site struct {
	build          Build
	home, stranger *deployment
	before         goroutines // at the start
	over           chan struct{}

	mu        sync.Mutex
	main      *instance // that Dial reaches
	instances []*instance
	endless   error // why an instance did not stop
}

func newSite(build Build) *site {
	return &site{build: build, home: newDeployment("home"), stranger: newDeployment("stranger"), before: inThisBubble(), over: make(chan struct{})}
}

// longest is more than any state may live.
const longest = 25 * time.Hour

func (s *site) subject() prove.Subject {
	return prove.Subject{
		Dial: s.dial,
		Fresh: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			return s.fresh(ctx, s.home, who)
		},
		Stranger: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			return s.fresh(ctx, s.stranger, who)
		},
		Expire: func(context.Context) error {
			time.Sleep(longest)
			return nil
		},
		Effects: func(context.Context) (map[string]int, error) {
			synctest.Wait()
			return s.effects(), nil
		},
		First:         &prove.Caller{Name: "first", Token: "first"},
		Other:         &prove.Caller{Name: "other", Token: "other"},
		Died:          s.died,
		Revive:        s.revive,
		CrashAtEffect: s.crashAtEffect,
		Held: func(context.Context) (int, error) {
			synctest.Wait()
			return len(inThisBubble().without(s.before)), nil
		},
	}
}

// dial reaches the main instance, which the first client starts.
func (s *site) dial(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
	if s.current() == nil {
		if err := s.revive(ctx); err != nil {
			return nil, err
		}
	}
	if died := s.died(); died != nil {
		return nil, died
	}
	transport, err := s.current().connect(ctx, user(who))
	return &prove.Endpoint{Transport: transport}, err
}

// current is the main instance; nil before the first client.
func (s *site) current() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.main
}

// revive starts the main instance.
func (s *site) revive(context.Context) error {
	i, err := s.start(s.home)
	if err == nil {
		s.mu.Lock()
		s.main = i
		s.mu.Unlock()
	}
	return err
}

// fresh starts an instance for one client.
func (s *site) fresh(ctx context.Context, d *deployment, who *prove.Caller) (*prove.Endpoint, error) {
	i, err := s.start(d)
	if err != nil {
		return nil, err
	}
	transport, err := i.connect(ctx, user(who))
	if err != nil {
		return nil, err
	}
	return &prove.Endpoint{Transport: transport, Close: func() error {
		if i.died() == nil {
			s.stop(i)
		}
		return nil
	}}, nil
}

func (s *site) start(d *deployment) (*instance, error) {
	i, err := d.start(s.build)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.instances = append(s.instances, i)
	s.mu.Unlock()
	return i, nil
}

// stop ends an instance.
func (s *site) stop(i *instance) {
	if err := i.stop(); err != nil {
		s.mu.Lock()
		s.endless = err
		s.mu.Unlock()
	}
}

func (s *site) died() error {
	if main := s.current(); main != nil {
		return main.died()
	}
	return nil
}

func (s *site) crashAtEffect(on bool) {
	s.home.mu.Lock()
	defer s.home.mu.Unlock()
	if s.home.crash = nil; on {
		s.home.crash = s.over
	}
}

// effects counts those of both deployments.
func (s *site) effects() map[string]int {
	count := map[string]int{}
	for _, d := range []*deployment{s.home, s.stranger} {
		for _, e := range d.all() {
			if e.undone {
				count[e.name]--
			} else {
				count[e.name]++
			}
		}
	}
	return count
}

// close ends everything, and reports the instances and goroutines that did not.
func (s *site) close() []prove.Finding {
	s.crashAtEffect(false)
	s.mu.Lock()
	instances := s.instances
	s.mu.Unlock()
	close(s.over) // an instance that a crash has frozen goes on, and ends
	for _, i := range instances {
		s.stop(i)
	}
	closing := errors.Join(s.home.close(), s.stranger.close())
	time.Sleep(time.Minute) // for goroutines that end by themselves
	synctest.Wait()
	stops := finding("instance/stops", "An instance stops soon after its clients have hung up.")
	if s.endless = errors.Join(s.endless, closing); s.endless != nil {
		stops.Outcome, stops.Detail = prove.Fail, s.endless.Error()
	}
	leaks := finding("instance/leaks", "An instance that was stopped leaves no goroutine.")
	if left := inThisBubble().without(s.before); len(left) > 0 {
		leaks.Outcome, leaks.Detail = prove.Fail, "left: "+left.String()
	}
	return []prove.Finding{stops, leaks}
}

func finding(name, says string) prove.Finding {
	return prove.Finding{Rule: prove.Rule{Name: name, Says: says, Level: prove.Ours, Clause: "package mrtrtest"}, Outcome: prove.Pass}
}

func user(who *prove.Caller) string {
	if who == nil {
		return ""
	}
	return who.Token
}
