package provetest

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/prove"
)

// site is where a proof takes place: two deployments of one server, in a bubble.
type site struct {
	home, stranger *mrtrtest.Deployment
	before         goroutines // at the start
	over           chan struct{}

	mu        sync.Mutex
	main      *mrtrtest.Instance // that Dial reaches
	instances []*mrtrtest.Instance
	endless   error // why an instance did not stop
}

func newSite(build mrtrtest.Build) *site {
	return &site{
		home:     &mrtrtest.Deployment{Name: "home", Build: build},
		stranger: &mrtrtest.Deployment{Name: "stranger", Build: build},
		before:   inThisBubble(), over: make(chan struct{}),
	}
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
	transport, err := s.current().Connect(ctx, user(who))
	return &prove.Endpoint{Transport: transport}, err
}

// current is the main instance; nil before the first client.
func (s *site) current() *mrtrtest.Instance {
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
func (s *site) fresh(ctx context.Context, d *mrtrtest.Deployment, who *prove.Caller) (*prove.Endpoint, error) {
	i, err := s.start(d)
	if err != nil {
		return nil, err
	}
	transport, err := i.Connect(ctx, user(who))
	if err != nil {
		return nil, err
	}
	return &prove.Endpoint{Transport: transport, Close: func() error {
		if i.Died() == nil {
			s.stop(i)
		}
		return nil
	}}, nil
}

func (s *site) start(d *mrtrtest.Deployment) (*mrtrtest.Instance, error) {
	i, err := d.Start()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.instances = append(s.instances, i)
	s.mu.Unlock()
	return i, nil
}

// stop ends an instance.
func (s *site) stop(i *mrtrtest.Instance) {
	if err := i.Stop(); err != nil {
		s.mu.Lock()
		s.endless = err
		s.mu.Unlock()
	}
}

func (s *site) died() error {
	if main := s.current(); main != nil {
		return main.Died()
	}
	return nil
}

func (s *site) crashAtEffect(on bool) {
	if on {
		s.home.CrashAtEffect(s.over)
	} else {
		s.home.CrashAtEffect(nil)
	}
}

// effects counts those of both deployments.
func (s *site) effects() map[string]int {
	count := s.home.Effects()
	for name, n := range s.stranger.Effects() {
		count[name] += n
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
	closing := errors.Join(s.home.Close(), s.stranger.Close())
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
	return prove.Finding{Rule: prove.Rule{Name: name, Says: says, Level: prove.Ours, Clause: "package provetest"}, Outcome: prove.Pass}
}

func user(who *prove.Caller) string {
	if who == nil {
		return ""
	}
	return who.Token
}
