package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mrtr-go/sdk/prove"
)

// program is a started program of the corpus.
type program struct {
	url string
	end func()
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
	return &program{"http://127.0.0.1:" + strings.TrimSpace(port), end}, nil
}

// instance is the address of one server, without what is asked of it.
func (p *program) instance(s server, secret, name string) string {
	mistake := s.mistake.name
	if mistake == "" {
		mistake = "-"
	}
	return strings.Join([]string{p.url, s.design.name, mistake, secret, name}, "/")
}

// subject is a server with every ability, or with a count of its effects alone. The
// secret is of one run, in which nothing was called before.
func (p *program) subject(s server, secret string, able bool) prove.Subject {
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
