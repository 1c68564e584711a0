package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/prove"
)

type count = func(context.Context) (map[string]int, error)

// counter makes the count that -effects asks for; nil if it asks for none. A count that is a
// bare number is one of the effect with that name.
func counter(where, name string, s prove.Subject, stderr *lines) (count, error) {
	kind, what, _ := strings.Cut(where, ":")
	switch {
	case where == "":
		return nil, nil
	case isURL(where):
		return func(ctx context.Context) (map[string]int, error) { return get(ctx, where, name) }, nil
	case what == "":
	case kind == "stderr" && stderr == nil:
		return nil, errors.New("-effects stderr: is for a command")
	case kind == "stderr":
		pattern, err := regexp.Compile(what)
		if err != nil {
			return nil, fmt.Errorf("-effects: %w", err)
		}
		stderr.pattern = pattern
		return stderr.count, nil
	case kind == "tool":
		return ask(s, name, wire.Request{Name: what, Arguments: struct{}{}}), nil
	case kind == "resource":
		return ask(s, name, wire.Request{Method: "resources/read", Name: what}), nil
	case kind == "command":
		fields := strings.Fields(what)
		if len(fields) == 0 {
			break
		}
		return func(ctx context.Context) (map[string]int, error) {
			out, err := exec.CommandContext(ctx, fields[0], fields[1:]...).Output()
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				err = fmt.Errorf("%s: %w: %.500s", what, err, bytes.TrimSpace(exit.Stderr))
			}
			if err != nil {
				return nil, err
			}
			return readCounts(out, name)
		}, nil
	}
	return nil, fmt.Errorf("-effects does not understand %q; see mrtr help prove", where)
}

func get(ctx context.Context, url, name string) (map[string]int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, res.Status)
	}
	return readCounts(text, name)
}

// ask reads the counts from the server itself.
func ask(s prove.Subject, name string, request wire.Request) count {
	return func(ctx context.Context) (map[string]int, error) {
		e, err := s.Dial(ctx, s.First)
		if err != nil {
			return nil, err
		}
		if e.Close != nil {
			defer e.Close()
		}
		as := &wire.Options{Bounded: true}
		var c *wire.Client
		if e.Transport != nil {
			c, err = wire.Dial(ctx, e.Transport, as)
		} else {
			c, err = wire.DialHTTP(ctx, e.URL, e.HTTP, as)
		}
		if err != nil {
			return nil, err
		}
		defer c.Close()
		res, err := c.Exchange(ctx, request)
		if err != nil {
			return nil, err
		}
		if res.Error != nil {
			return nil, res.Error
		}
		var result struct {
			Structured json.RawMessage         `json:"structuredContent"`
			Content    []struct{ Text string } `json:"content"`
			Contents   []struct{ Text string } `json:"contents"`
		}
		if err := json.Unmarshal(res.Result, &result); err != nil {
			return nil, err
		}
		text := string(result.Structured)
		for _, block := range append(result.Content, result.Contents...) {
			if text == "" {
				text = block.Text
			}
		}
		return readCounts([]byte(text), name)
	}
}

// readCounts reads a number, or an object of numbers, or of lists with an object for each time.
func readCounts(text []byte, name string) (map[string]int, error) {
	var one int
	if json.Unmarshal(bytes.TrimSpace(text), &one) == nil {
		return map[string]int{name: one}, nil
	}
	var many map[string]json.RawMessage
	if err := json.Unmarshal(text, &many); err != nil || many == nil {
		return nil, fmt.Errorf("neither a number nor an object of numbers: %.100q", text)
	}
	counts := map[string]int{}
	for name, raw := range many {
		var each []json.RawMessage
		if json.Unmarshal(raw, &one) == nil {
			counts[name] = one
		} else if json.Unmarshal(raw, &each) != nil {
			return nil, fmt.Errorf("%.100q is neither a number nor a list: %.100q", name, raw)
		}
		for _, with := range each {
			counts[name+" "+string(with)]++
		}
	}
	return counts, nil
}

// lines counts the lines on the stderr of all processes that match a pattern. It
// keeps the last ones, which say why a command was no server.
type lines struct {
	pattern *regexp.Regexp // nil counts none

	mu      sync.Mutex
	rest    []byte
	last    []string
	counts  map[string]int
	written time.Time
}

func newLines() *lines { return &lines{counts: map[string]int{}} }

// maxEffects and maxName bound the names that a server may write. Names beyond them are
// not counted.
const (
	maxEffects = 1000
	maxName    = 1000
)

const (
	maxLine   = 1 << 20 // how much of a line without an end is kept
	lastLines = 5       // how many lines are kept
	lastWidth = 300     // and how much of each
)

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = time.Now()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			break
		}
		l.rest = rest
		l.keep(line)
		if l.pattern == nil {
			continue
		}
		if m := l.pattern.FindSubmatch(line); m != nil {
			name := "effect"
			if len(m) > 1 {
				name = string(m[1])
			}
			if _, known := l.counts[name]; known || len(l.counts) < maxEffects && len(name) <= maxName {
				l.counts[name]++
			}
		}
	}
	if len(l.rest) > maxLine {
		l.rest = nil
	}
	return len(p), nil
}

// keep remembers a line, and forgets the oldest one.
func (l *lines) keep(line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	if len(l.last) == lastLines {
		l.last = l.last[1:]
	}
	l.last = append(l.last, strings.ToValidUTF8(string(line[:min(len(line), lastWidth)]), ""))
}

// explain adds the last lines to an error, and one that has no end yet.
func (l *lines) explain(ctx context.Context, err error) error {
	_ = l.quiet(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(l.rest)
	l.rest = nil
	if len(l.last) == 0 {
		return err
	}
	return fmt.Errorf("%w\nThe command's stderr ends with:\n  %s", err, strings.Join(l.last, "\n  "))
}

func (l *lines) count(ctx context.Context) (map[string]int, error) {
	if err := l.quiet(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts), nil
}

// quiet waits until nothing was written for a moment, since the lines of a reply
// may come after it.
func (l *lines) quiet(ctx context.Context) error {
	const quiet = 30 * time.Millisecond
	asked := time.Now()
	for {
		l.mu.Lock()
		last := l.written
		l.mu.Unlock()
		if last.Before(asked) {
			last = asked
		}
		if time.Since(last) >= quiet || time.Since(asked) > time.Second {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
