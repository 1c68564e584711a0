package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

// proof is the command line of mrtr prove.
type proof struct {
	scenario prove.Scenario
	options  prove.Options

	token, otherToken      string
	fresh, stranger, brief string
	secret, effects, reset string
	expiry, limit          time.Duration
	header, otherHeader    http.Header
	tokenURL               string
	scopes                 []string
	rate                   float64 // requests a second; 0 is as fast as it goes

	dryRun, quiet, asJSON, github bool
	junit, sarif                  string
	file                          string

	stderr *lines // of the command; nil for a URL

	// Without a tool all that are read-only are swept.
	client    string
	arguments map[string]any
	given     []string // flags
}

func newProof() *proof { return &proof{header: http.Header{}, otherHeader: http.Header{}} }

func (p *proof) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("prove", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	s := &p.scenario
	fs.StringVar(&s.Tool, "tool", "", "the `name` of the tool (default: sweep every tool that is read-only)")
	object(fs, "arguments", "call it with these arguments, a `JSON` object (default: made from its schema); without -tool, an object of them by the tool's name", &p.arguments)
	object(fs, "other-arguments", "other good arguments, as `JSON`, that lead to another result", &s.OtherArguments)
	object(fs, "answers", "the answers, a `JSON` object by the question's key", &s.Answers)
	object(fs, "other-answers", "other good answers, as `JSON`", &s.OtherAnswers)
	fs.StringVar(&s.OtherTool, "other-tool", "", "the `name` of another tool that takes the same arguments and asks")
	list(fs, "optional", "the `keys` of questions that may be declined, with commas between them", &s.Optional)
	fs.Func("times", "how often a call has an effect, `effect=N`; may be repeated (default: once, or never)", p.addTimes)
	fs.StringVar(&s.Key, "key", "", "the member of _meta, by `name`, in which the server takes a key for a whole call")
	fs.BoolVar(&s.Repeatable, "repeatable", false, "a round that is sent again may have its effects again")
	list(fs, "harmless", "the `effects` that need nobody's yes, with commas between them", &s.Harmless)
	fs.StringVar(&p.reset, "reset", "", "run this `command` before each call, for a tool that cannot be called twice")

	secret(fs, "token", "send this bearer `token`", &p.token)
	secret(fs, "other-token", "the bearer `token` of another user", &p.otherToken)
	fs.Func("header", "send this `header`, 'NAME: VALUE', with each request; may be repeated", addHeader(p.header))
	fs.Func("other-header", "a `header` of another user, in the place of that of the same name; may be repeated", addHeader(p.otherHeader))
	fs.StringVar(&p.tokenURL, "token-url", "", "get the token from this `URL` by OAuth client credentials: MRTR_CLIENT_ID and MRTR_CLIENT_SECRET in the environment")
	list(fs, "scope", "ask -token-url for these `scopes`, with commas between them", &p.scopes)
	fs.Float64Var(&p.rate, "rate", 0, "send at most this `number` of requests a second (default: as many as it can)")
	fs.StringVar(&p.fresh, "fresh", "", "the `URL` of another instance with the same secrets")
	fs.StringVar(&p.stranger, "stranger", "", "the `URL` of an instance with other secrets")
	fs.StringVar(&p.brief, "brief", "", "the `URL` of an instance whose states soon expire, or what to append to COMMAND for that")
	fs.DurationVar(&p.expiry, "expiry", 2*time.Second, "how long to wait until such a state has expired")
	fs.StringVar(&p.secret, "secret", "", "the environment `variable` that holds the secrets of COMMAND: it is set to 32 random bytes in base64, and others for a stranger")
	fs.StringVar(&p.effects, "effects", "", "`where` the effects are counted; see below")

	fs.Func("only", "try these `rules` and groups alone, with commas between them", p.addOnly)
	fs.Func("level", "try rules of this `level` and above alone, and fail by them: must, promise, should or ours (default: try all, fail by should)", p.setLevel)
	fs.DurationVar(&p.options.Late, "late", 5*time.Second, "how long behind its request an effect may still come")
	fs.Uint64Var(&p.options.Seed, "seed", 1, "the `number` that the random traces begin with")
	fs.IntVar(&p.options.Traces, "traces", 6, "try so many random `traces`")
	fs.DurationVar(&p.options.Patience, "patience", 10*time.Second, "how long to wait for an answer")
	fs.DurationVar(&p.limit, "limit", 10*time.Minute, "how long the whole proof may take; the rules that are left then are skipped")
	fs.StringVar(&p.client, "client", "", "sweep as this `kind` of client alone: modern or legacy (default: as both)")
	fs.BoolVar(&p.dryRun, "dry-run", false, "list the tools, print what would be done, and call none")
	fs.BoolVar(&p.quiet, "quiet", false, "print the failures that decide, and no plan and no progress")
	fs.BoolVar(&p.asJSON, "json", false, "print the report as JSON")
	fs.BoolVar(&p.github, "github", false, "print an annotation of GitHub Actions for each failure too")
	fs.StringVar(&p.junit, "junit", "", "write the report to this `file` as JUnit XML too")
	fs.StringVar(&p.sarif, "sarif", "", "write the failures to this `file` as SARIF 2.1.0 too")
	fs.StringVar(&p.file, "file", "", "show failures at this source `file`, in SARIF and in annotations")
	return fs
}

func object(fs *flag.FlagSet, name, usage string, to *map[string]any) {
	fs.Func(name, usage, func(text string) error {
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil || v == nil {
			return errors.New("want a JSON object")
		}
		*to = v
		return nil
	})
}

// secret is a text that the environment may hold.
func secret(fs *flag.FlagSet, name, usage string, to *string) {
	fs.Func(name, usage, func(text string) (err error) {
		*to, err = fromEnvironment(text)
		return err
	})
}

func list(fs *flag.FlagSet, name, usage string, to *[]string) {
	fs.Func(name, usage, func(text string) error {
		for _, word := range strings.Split(text, ",") {
			*to = append(*to, strings.TrimSpace(word))
		}
		return nil
	})
}

func (p *proof) addTimes(text string) error {
	name, number, _ := strings.Cut(text, "=")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || name == "" {
		return errors.New("want EFFECT=N")
	}
	if p.scenario.Times == nil {
		p.scenario.Times = map[string]int{}
	}
	p.scenario.Times[name] = n
	return nil
}

func (p *proof) addOnly(text string) error {
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(append(prove.Rules(), prove.TaskRules()...), func(r prove.Rule) bool { return r.Name == name || r.Group() == name }) {
			return fmt.Errorf("there is no rule and no group %q", name)
		}
		p.options.Only = append(p.options.Only, name)
	}
	return nil
}

func (p *proof) setLevel(text string) error {
	for _, l := range []prove.Level{prove.Must, prove.Promise, prove.Should, prove.Ours} {
		if strings.EqualFold(text, string(l)) {
			p.options.Level = l
			return nil
		}
	}
	return errors.New("want must, promise, should or ours")
}

// subject is the server at a URL, or behind a command.
func (p *proof) subject(target []string) (prove.Subject, error) {
	var s prove.Subject
	var err error
	only := slices.IndexFunc(p.given, func(name string) bool { return slices.Contains(onlyURL, name) })
	switch {
	case len(target) == 0:
		err = errors.New("nothing to prove: give a URL, or -- and a command")
	case isURL(target[0]) && len(target) > 1:
		err = fmt.Errorf("one URL is enough, and %q follows", target[1])
	case isURL(target[0]) && p.secret != "":
		err = errors.New("-secret is for a command")
	case isURL(target[0]):
		s, err = p.behindURL(target[0])
	case only >= 0:
		err = fmt.Errorf("-%s is for a URL", p.given[only])
	default:
		p.stderr = newLines()
		s, err = p.behindCommand(target)
	}
	if err != nil {
		return s, err
	}
	if p.brief != "" {
		s.Expire = func(ctx context.Context) error {
			select {
			case <-time.After(p.expiry):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if command := strings.Fields(p.reset); len(command) > 0 {
		s.Reset = func(ctx context.Context) error {
			out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %w: %.500s", p.reset, err, out)
			}
			return nil
		}
	}
	s.Effects, err = counter(p.effects, p.onlyEffect(), s, p.stderr)
	return s, err
}

// onlyEffect is the effect that -times names, if it names one.
func (p *proof) onlyEffect() string {
	if len(p.scenario.Times) == 1 {
		for name := range p.scenario.Times {
			return name
		}
	}
	return "effect"
}

// onlyURL are the flags that have no meaning for a command.
var onlyURL = []string{"fresh", "stranger", "token", "other-token", "header", "other-header", "token-url", "scope", "rate"}

func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

func (p *proof) behindURL(url string) (prove.Subject, error) {
	transport, err := p.transport()
	if err != nil {
		return prove.Subject{}, err
	}
	client := &http.Client{Transport: transport}
	s := prove.Subject{Dial: prove.HTTP(url, client), HTTP: true}
	for _, other := range []struct {
		url string
		to  *prove.Dial
	}{{p.fresh, &s.Fresh}, {p.stranger, &s.Stranger}, {p.brief, &s.Brief}} {
		if other.url != "" {
			*other.to = prove.HTTP(other.url, client)
		}
	}
	if p.token != "" || len(p.header) > 0 {
		s.First = &prove.Caller{Name: "first", Token: p.token, Header: p.header}
	}
	if p.otherToken != "" || len(p.otherHeader) > 0 {
		header := maps.Clone(p.header)
		maps.Copy(header, p.otherHeader)
		s.Other = &prove.Caller{Name: "other", Token: p.otherToken, Header: header}
	}
	return s, nil
}

// behindCommand starts a process for each connection. They share a secret where
// its variable is known: then each of them is a fresh instance of the others.
func (p *proof) behindCommand(command []string) (prove.Subject, error) {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return prove.Subject{}, err
	}
	dial := func(secret string, more ...string) prove.Dial {
		return prove.Command(func() *exec.Cmd {
			c := exec.Command(program, append(append([]string{}, command[1:]...), more...)...)
			c.Stderr = p.stderr
			if p.secret != "" {
				c.Env = append(os.Environ(), p.secret+"="+secret)
			}
			return c
		})
	}
	ours := newSecret()
	s := prove.Subject{Dial: dial(ours)}
	if p.secret != "" {
		s.Fresh, s.Stranger = dial(ours), dial(newSecret())
	}
	if p.brief != "" {
		s.Brief = dial(ours, strings.Fields(p.brief)...)
	}
	return s, nil
}

func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return base64.StdEncoding.EncodeToString(secret)
}
