package model

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mrtr-go/sdk/mrtr"
)

// desk has the effects of all tools, and keeps a record of them.
type desk struct {
	mu     sync.Mutex
	closed bool
	runs   []run
}

// run is an effect that was attempted.
type run struct {
	request string // the request in whose round it happened
	call    string // as the engine names it
	key     string
	idem    string // "" in a style that has none
	failed  bool
	value   int // tells this run from every other
}

var errDeskClosed = errors.New("the desk is closed")

func (d *desk) serve(c *mrtr.Call, key, idem string) (int, error) {
	tag, _ := c.Request().GetParams().GetMeta()[requestTag].(string)
	d.mu.Lock()
	defer d.mu.Unlock()
	r := run{request: tag, call: c.ID(), key: key, idem: idem, failed: d.closed, value: len(d.runs) + 1}
	d.runs = append(d.runs, r)
	if d.closed {
		return 0, errDeskClosed
	}
	return r.value, nil
}

func (d *desk) close(closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = closed
}

// since are the runs after the first n, by request.
func (d *desk) since(n int) map[string][]run {
	d.mu.Lock()
	defer d.mu.Unlock()
	byRequest := map[string][]run{}
	for _, r := range d.runs[n:] {
		byRequest[r.request] = append(byRequest[r.request], r)
	}
	return byRequest
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.runs)
}

// told is the text of a result: one word an item, in the order of the plan.
type told []string

func (t told) String() string {
	words := make([]string, 0, len(t))
	for _, w := range t {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func (t told) answer(i int, key, read string) {
	if t[i] != "" {
		t[i] += " "
	}
	t[i] += key + "=" + read
}

func (t told) effect(i int, key string, value int) { t[i] = fmt.Sprintf("%s#%d", key, value) }

func (t told) failed(i int, key string) { t[i] = key + "#failed" }
