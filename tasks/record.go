package tasks

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recordFormat is the version of the encoding. A record of another version is not read.
const recordFormat = 1

// record is all that is kept of a task: its call, as a client would keep it, and the words for
// its own client.
type record struct {
	Format    int             `json:"v"`
	Principal string          `json:"principal,omitempty"`
	Name      string          `json:"name"` // of the tool
	Meta      json.RawMessage `json:"meta,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ID and Print are of a task whose client sent a key: that of its first answer, and the one
	// that every call with the key has.
	ID    string `json:"id,omitempty"`
	Print string `json:"print,omitempty"`
	// Call is that of the engine, "" where it has none.
	Call string `json:"call,omitempty"`
	// Engine: the handler's state is there before the handler is entered, and it can be
	// told that its call ends.
	Engine bool `json:"engine,omitempty"`
	// Kept: a round that was cut off can be asked for again. Of any other nobody knows what it
	// has done.
	Kept bool `json:"kept,omitempty"`

	State   string                     `json:"state,omitempty"`   // of the next request to the handler
	Answers map[string]json.RawMessage `json:"answers,omitempty"` // that go with it
	Round   int                        `json:"round,omitempty"`   // rounds so far that asked
	Open    map[string]question        `json:"open,omitempty"`    // by the keys that the client sees

	Status  status          `json:"status"`
	Message string          `json:"message,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Expires time.Time       `json:"expires"`

	// Holder names the run that works on the task, "" where none does.
	Holder string `json:"holder,omitempty"`
	// Cancel: tasks/cancel came before the task had an end.
	Cancel bool `json:"cancel,omitempty"`
	// Erased: nothing is left of the task but that it was one.
	Erased bool `json:"erased,omitempty"`
}

// question is one that a task asks. Its key for the client is that of the handler's question
// with the number of the round, so that none is used twice in a task.
type question struct {
	Key      string          `json:"key"` // as the handler asked
	Request  json.RawMessage `json:"request"`
	Answered bool            `json:"answered,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"` // none where what came could not be read
	// Until is when silence answers it, zero for never.
	Until time.Time `json:"until,omitzero"`
}

// open reports whether the question waits for its answer.
func (q question) open() bool {
	return !q.Answered && (q.Until.IsZero() || time.Now().Before(q.Until))
}

func (r *record) encode() ([]byte, error) {
	r.Format = recordFormat
	return json.Marshal(r)
}

func decodeRecord(b []byte) (*record, bool) {
	r := &record{}
	if json.Unmarshal(b, r) != nil || r.Format != recordFormat {
		return nil, false
	}
	known := r.Status == working || r.Status == inputRequired || r.Status.terminal()
	return r, known && r.Name != "" && !r.Expires.IsZero()
}

// ask makes the questions of a result those of the task, with their deadlines.
func (r *record) ask(res *mcp.CallToolResult, deadline func(question string) time.Time) error {
	requests, err := json.Marshal(res.InputRequests)
	if err != nil {
		return err
	}
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(requests, &asked); err != nil {
		return err
	}
	r.Round++
	r.State, r.Answers, r.Open = res.RequestState, nil, map[string]question{}
	for key, request := range asked {
		r.Open[key+"-"+strconv.Itoa(r.Round)] = question{Key: key, Request: request, Until: deadline(key)}
	}
	r.Status, r.Holder = inputRequired, ""
	return nil
}

// answer takes answers to questions that are open, before their deadlines. Any other key is ignored. It reports
// whether any was taken.
func (r *record) answer(answers map[string]json.RawMessage) (took bool) {
	r.Open = maps.Clone(r.Open)
	for key, answer := range answers {
		q, asked := r.Open[key]
		if !asked || !q.open() {
			continue
		}
		q.Answered = true
		if readable(answer) {
			q.Answer = answer
		}
		r.Open[key] = q
		took = true
	}
	return took
}

// answered reports whether every question of a task that waits has its answer, or silence.
func (r *record) answered() bool {
	return r.Status == inputRequired && !slices.ContainsFunc(slices.Collect(maps.Values(r.Open)), question.open)
}

// proceed makes a task that waits one that somebody works on, with the answers it has.
func (r *record) proceed(holder string) {
	r.Answers = nil
	for _, q := range r.Open {
		if q.Answer != nil {
			if r.Answers == nil {
				r.Answers = map[string]json.RawMessage{}
			}
			r.Answers[q.Key] = q.Answer
		}
	}
	r.Open, r.Status, r.Holder = nil, working, holder
}

// isOfAnotherTime reports whether the clock here, or where the task was created, is wrong. The engine would
// refuse its state here, and the task would end for that.
func (r *record) isOfAnotherTime(skew time.Duration) bool {
	now := time.Now()
	return now.Add(skew).Before(r.Created) || now.Add(-skew).After(r.Expires)
}

// end makes the status the last one, and drops what the task needed to go on.
func (r *record) end(s status, message string) {
	r.Status, r.Message = s, message
	r.Meta, r.Arguments, r.State, r.Answers, r.Open, r.Holder = nil, nil, "", nil, nil, ""
}

// tooLarge is the result of a task whose own does not fit into the store.
var tooLarge = json.RawMessage(`{"content":[{"type":"text","text":"The tool completed, and its result was too large to be kept for this task. Do not call it again."}],"isError":true,"resultType":"complete"}`)

var (
	errTooLarge = errors.New("the call holds more than the server can keep of a task")
	errNoRoom   = errors.New("the server has no room left to keep what this call holds")
)

// shrink ends a task that does not fit into the store.
func (r *record) shrink(why error) {
	if r.Status == completed {
		r.Result = tooLarge
		return
	}
	r.Error = marshal(wireError(why))
	r.end(failed, why.Error())
}

// params are those of the next request to the handler.
func (r *record) params() (*mcp.CallToolParamsRaw, error) {
	p := &mcp.CallToolParamsRaw{Name: r.Name, Arguments: r.Arguments, RequestState: r.State}
	if r.Meta != nil {
		if err := json.Unmarshal(r.Meta, &p.Meta); err != nil {
			return nil, err
		}
	}
	if r.Answers == nil {
		return p, nil
	}
	answers, err := json.Marshal(r.Answers)
	if err != nil {
		return nil, err
	}
	return p, json.Unmarshal(answers, &p.InputResponses)
}

// show is the task as its client sees it.
func (r *record) show(id string, poll time.Duration) *taskResult {
	t := &taskResult{
		ResultType: "complete", TaskID: id, Status: r.Status, StatusMessage: r.Message,
		CreatedAt: timestamp(r.Created), LastUpdatedAt: timestamp(r.Updated),
		TTLMs: r.Expires.Sub(r.Created).Milliseconds(), PollIntervalMs: poll.Milliseconds(),
	}
	switch r.Status {
	case inputRequired:
		t.InputRequests = map[string]json.RawMessage{}
		for key, q := range r.Open {
			if q.open() {
				t.InputRequests[key] = q.Request
			}
		}
	case completed:
		t.Result = r.Result
	case failed:
		t.Error = r.Error
	}
	return t
}

// ledger counts the tasks that this instance has created and that have not ended, as far as
// it knows: one that ends at another instance counts until it is asked for here, or expires.
type ledger struct {
	max, maxPrincipal int

	mu    sync.Mutex
	tasks map[string]entry // by the name of the record, in whichever incarnation of the store
	of    map[string]share // by principal, "" for all that are not known
}

type entry struct {
	principal string
	bytes     int
	expires   time.Time
}

// share is what the tasks of a principal have together.
type share struct{ tasks, bytes int }

// admit counts in a task, unless there are too many, or those of its caller hold too much. The
// callers without a principal share three quarters of all places.
func (l *ledger) admit(name, principal string, bytes int, expires time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.tasks[name]; known { // an earlier call has the same key
		return true
	}
	most := l.maxPrincipal
	if principal == "" {
		most = l.max - l.max/4
	}
	isFull := func() bool {
		return len(l.tasks) >= l.max || l.of[principal].tasks >= most || !l.of[principal].takes(principal, bytes)
	}
	if isFull() {
		l.forgetExpired()
	}
	if isFull() {
		return false
	}
	if l.tasks == nil {
		l.tasks, l.of = map[string]entry{}, map[string]share{}
	}
	l.add(name, entry{principal, bytes, expires})
	return true
}

// takes reports whether there is room for one more, which has it if it is the only one.
func (s share) takes(principal string, bytes int) bool {
	return s.tasks == 0 || s.bytes+bytes <= room(principal)
}

// grow counts how much a task holds now, unless that is too much. One that was not counted in here
// holds what it likes.
func (l *ledger) grow(name string, bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, counted := l.tasks[name]
	if !counted {
		return true
	}
	l.remove(name)
	now := before
	now.bytes = bytes
	takes := l.of[now.principal].takes(now.principal, bytes)
	if !takes {
		now = before
	}
	l.add(name, now)
	return takes
}

// add counts in. The caller holds l.mu.
func (l *ledger) add(name string, e entry) {
	l.tasks[name] = e
	of := l.of[e.principal]
	l.of[e.principal] = share{of.tasks + 1, of.bytes + e.bytes}
}

// open is how many are counted in and have not expired.
func (l *ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetExpired()
	return len(l.tasks)
}

// leave counts out a task that has ended, if it was counted in.
func (l *ledger) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(name)
}

// forgetExpired counts out those that have expired. The caller holds l.mu.
func (l *ledger) forgetExpired() {
	now := time.Now()
	for name, e := range l.tasks {
		if now.After(e.expires) {
			l.remove(name)
		}
	}
}

func (l *ledger) remove(name string) {
	e, counted := l.tasks[name]
	if !counted {
		return
	}
	delete(l.tasks, name)
	of := l.of[e.principal]
	if l.of[e.principal] = (share{of.tasks - 1, of.bytes - e.bytes}); of.tasks == 1 {
		delete(l.of, e.principal)
	}
}
