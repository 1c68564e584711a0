package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/prove"
)

// program is a started program of the corpus, or one that is started for each connection.
type program struct {
	url  string
	path string // with its arguments, of one over stdio
	args []string
	dir  string // of the files in which such a program counts its effects
	end  func()
}

// folder is that of the programs.
func folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

func script(interpreter, file string) func() (string, []string, error) {
	return func() (string, []string, error) {
		path, err := exec.LookPath(interpreter)
		return path, []string{filepath.Join(folder(), file)}, err
	}
}

// start starts the program of a language, which ends when its stdin does.
func start(l *language) (*program, error) {
	path, args, err := l.command()
	if err != nil {
		return nil, err
	}
	if l.stdio {
		dir, err := os.MkdirTemp("", "corpus")
		return &program{path: path, args: args, dir: dir, end: func() { _ = os.RemoveAll(dir) }}, err
	}
	var stderr bytes.Buffer
	c := exec.Command(path, args...)
	c.Stderr = &stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	end := func() {
		_ = stdin.Close()
		_ = c.Wait()
	}
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		end()
		return nil, fmt.Errorf("%s does not start: %w\n%s", l.name, err, stderr.String())
	}
	return &program{url: "http://127.0.0.1:" + strings.TrimSpace(port), end: end}, nil
}

// instance is the address of one server, without what is asked of it.
func (p *program) instance(s server, secret, name string) string {
	return strings.Join([]string{p.url, s.design.name, s.mistakeName(), secret, name}, "/")
}

// subject is a server with every ability, or with a count of its effects alone. The
// secret is of one run, in which nothing was called before.
func (p *program) subject(s server, secret string, able bool) prove.Subject {
	if s.language.stdio {
		return p.overStdio(s, secret, able)
	}
	main := p.instance(s, secret, "main")
	subject := prove.Subject{
		Dial: prove.HTTP(main+"/mcp", nil), HTTP: true,
		Effects: func(ctx context.Context) (counts map[string]int, err error) {
			text, err := ask(ctx, http.MethodGet, main+"/effects")
			if err == nil {
				err = json.Unmarshal(text, &counts)
			}
			return counts, err
		},
	}
	if !able {
		return subject
	}
	subject.First, subject.Other = &prove.Caller{Name: "ann", Token: "ann"}, &prove.Caller{Name: "bob", Token: "bob"}
	subject.Fresh = prove.HTTP(p.instance(s, secret, "fresh")+"/mcp", nil)
	subject.Stranger = prove.HTTP(p.instance(s, secret+"-stranger", "main")+"/mcp", nil)
	subject.Expire = func(ctx context.Context) error {
		_, err := ask(ctx, http.MethodPost, main+"/expire")
		return err
	}
	return subject
}

// overStdio is a server that lives as long as a connection, and remembers nothing behind it.
func (p *program) overStdio(s server, secret string, able bool) prove.Subject {
	file := filepath.Join(p.dir, secret)
	dial := func(secret string) prove.Dial {
		return prove.Command(func() *exec.Cmd {
			c := exec.Command(p.path, slices.Concat(p.args, []string{"--stdio", s.design.name, s.mistakeName()})...)
			c.Env = append(os.Environ(), "STATE_KEY="+secret, "EFFECTS="+file)
			return c
		})
	}
	subject := prove.Subject{
		Dial: dial(secret),
		Effects: func(context.Context) (map[string]int, error) {
			text, err := os.ReadFile(file)
			if err != nil && !os.IsNotExist(err) {
				return nil, err
			}
			return map[string]int{"charge": bytes.Count(text, []byte("\n"))}, nil
		},
	}
	if able {
		subject.Fresh, subject.Stranger = dial(secret), dial(secret+"-stranger")
		subject.Expire = func(context.Context) error {
			clock, err := os.OpenFile(file+".hours", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = clock.WriteString("x")
			return errors.Join(err, clock.Close())
		}
	}
	return subject
}

func ask(ctx context.Context, method, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// scenarioOf is the call that is proved. Alone, a prover knows the tool's name and what it
// promises.
func scenarioOf(s server, able bool) prove.Scenario {
	scenario := s.language.scenario
	if !able {
		scenario = prove.Scenario{Tool: scenario.Tool}
	}
	scenario.SingleUse = s.design.singleUse
	return scenario
}
