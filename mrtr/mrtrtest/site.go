package mrtrtest

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

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
	s.mu.Lock()
	main := s.main
	s.mu.Unlock()
	if main == nil {
		if err := s.revive(ctx); err != nil {
			return nil, err
		}
		return s.dial(ctx, who)
	}
	if died := main.died(); died != nil {
		return nil, died
	}
	transport, err := main.connect(ctx, user(who))
	if err != nil {
		return nil, err
	}
	return &prove.Endpoint{Transport: transport}, nil
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
	s.mu.Lock()
	main := s.main
	s.mu.Unlock()
	if main == nil {
		return nil
	}
	return main.died()
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
			count[e.name]++
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
