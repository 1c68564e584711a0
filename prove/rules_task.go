package prove

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

// The reasons of several rules, which SEP-2663 does not demand.
const (
	tasksKept  = "a client plans by the time to live that it was told"
	tasksBare  = "the id of a task stands in one place, and its state is the server's"
	oneHandler = "a task is one more way to ask: the call is the same"
)

var taskRules = []Rule{
	{"task/undeclared", "A client that does not declare the extension gets no task.", Must, tasksGated, taskUndeclared},
	{"task/methods-undeclared", "A client that does not declare the extension is refused the methods of tasks.", Must, methodsGated, taskMethodsUndeclared},
	{"task/resolves", "A task can be read as soon as its client knows of it.", Must, tasksDurable, taskResolves},
	{"task/foreign-ids", "An id that was altered, made up, or is another caller's is not recognized.", Must, tasksUnknown, taskForeignIDs},
	{"task/one-refusal", "The refusal of an id does not say what is wrong with it.", Ours, "a client never learns why an id was refused", taskOneRefusal},
	{"task/keys-once", "No key is used twice in a task.", Must, keysUnique, taskKeysOnce},
	{"task/keys-stand", "A key means the same request each time the task is read.", Must, keysUnique, taskKeysStand},
	{"task/partial", "A task that gets some of the answers waits for the others.", Ours, "answers may come one by one", taskPartial},
	{"task/unknown-keys", "An answer that nobody asked for, and one that comes again, change nothing.", Should, keysIgnored, taskUnknownKeys},
	{"task/final", "A task that has ended stays as it ended.", Ours, "an end is final", taskFinal},
	{"task/same-result", "A task has the result of the same call by round trips.", Ours, oneHandler, taskSameResult},
	{"task/same-questions", "A task asks what the same call asks by round trips, in the same order.", Ours, oneHandler, taskSameQuestions},
	{"task/effects-once", "Answers that are sent twice at once, and a cancellation beside them, have no effect twice.", Must, singleUse, taskEffectsOnce},
	{"task/cancelled", "A task that is cancelled while it waits comes to an end, without further effects.", Ours, "a client that cancels should learn that it did", taskCancelled},
	{"task/bare", "A task has no requestState, and does not name itself in its result.", Ours, tasksBare, taskBare},
	{"task/kept", "A task keeps its time to live, and is there until then.", Ours, tasksKept, taskKept},
	{"task/headers", "A request about a task whose header names another is refused.", Must, routed, taskHeaders},
	{"task/misfit", "An answer that does not fit is not taken, and its question is asked again under another key.", Must, keysUnique, taskMisfit},
	{"task/crash", "A task whose server died behind its effect comes to an end, without a second effect.", Must, singleUse, taskCrash},
	{"task/legacy", "A legacy client gets no task, and is refused the methods of tasks.", Must, tasksModern, taskLegacy},
}

const taskGroup = "task"

const notRecognized = -32602

// halfDeclared are declarations that do not declare the extension.
var halfDeclared = []wire.Capabilities{
	`{"elicitation":{"form":{},"url":{}},"tasks":{"requests":{"tools":{"call":{}}}}}`,
	`{"elicitation":{"form":{},"url":{}},"extensions":{}}`,
	`{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/other":{}}}`,
}

func (t *trial) needsTasks() {
	if !t.tasks {
		t.skip("needs a server that offers tasks")
	}
}

func taskUndeclared(t *trial) {
	t.needsTasks()
	for _, declared := range halfDeclared {
		s := t.undeclared(declared)
		if s.reply.ResultType == "task" {
			t.failAt(s, "a task for a client that declares %s", declared)
		}
	}
}

var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

func taskMethodsUndeclared(t *trial) {
	v := t.asking(t.taker())
	t.eachMethod(t.client(), v, nil, func(method string, s exchange) {
		if !s.failsWith(missingCapability) {
			t.failAt(s, "%s is not refused with %d", method, missingCapability)
		}
	})
}

// eachMethod sends a request of each method about a task, with its answers and other params.
func (t *trial) eachMethod(c *wire.Client, v view, params map[string]any, judge func(method string, s exchange)) {
	for _, method := range taskMethods {
		s := t.about(c, method, v.task(), with(params, "inputResponses", t.responses(v)))
		t.answered(s.exchange)
		judge(method, s.exchange)
	}
}

func taskResolves(t *trial) {
	c := t.taker()
	created := t.create(c)
	v := t.about(c, "tasks/get", created.ID, nil)
	t.answered(v.exchange)
	if v.protocol() || v.ID != created.ID {
		t.failAt(v.exchange, "the task that was just created is not there")
	}
}

// foreignIDs are requests with ids that name no task of their sender.
func (t *trial) foreignIDs() (refused []view) {
	c := t.taker()
	v := t.asking(c)
	id := v.task()
	at := len(id) / 2
	other := byte('A')
	if id[at] == other {
		other = 'B'
	}
	for _, wrong := range []string{id[:at] + string(other) + id[at+1:], id[:at], id + "A", "nobody", ""} {
		for _, method := range taskMethods {
			refused = append(refused, t.about(c, method, wrong, map[string]any{"inputResponses": t.responses(v)}))
		}
	}
	if t.subject.Other != nil {
		stranger := t.dial(t.subject.Dial, t.subject.Other, &wire.Options{TakesTasks: true})
		refused = append(refused, t.about(stranger, "tasks/get", id, nil))
		// An update and a cancellation may be acknowledged without a look at the task.
		t.about(stranger, "tasks/update", id, map[string]any{"inputResponses": t.responses(v)})
		t.about(stranger, "tasks/cancel", id, nil)
	}
	if now := t.about(c, "tasks/get", id, nil); !now.asks() || !sameKeys(v, now) {
		t.failAt(now.exchange, "the task is not as it was before requests that did not name it, or were another caller's")
	}
	return refused
}

func taskForeignIDs(t *trial) {
	for _, s := range t.foreignIDs() {
		t.answered(s.exchange)
		if s.request.Method == "tasks/update" && !s.protocol() {
			continue // it may be acknowledged whatever it names
		}
		if !s.failsWith(notRecognized) {
			t.failAt(s.exchange, "it is not refused with %d", notRecognized)
		}
	}
}

func taskOneRefusal(t *trial) {
	said := map[string]bool{}
	var last exchange
	for _, s := range t.foreignIDs() {
		if s.protocol() && s.task() != "" {
			said[s.outline()] = true
			last = s.exchange
		}
	}
	if len(said) > 1 {
		t.failAt(last, "ids are refused in different words: %s", strings.Join(slices.Sorted(maps.Keys(said)), "; "))
	}
}

func taskKeysOnce(t *trial) {
	round, used := 0, map[string]int{}
	c := t.taker()
	v := t.settle(c, t.create(c).ID)
	for ; v.asks() && round < maxRounds; round++ {
		for _, q := range v.reply.Asks {
			if used[q.Key] > 0 {
				t.failAt(v.exchange, "key %q is used again", q.Key)
			}
			used[q.Key]++
		}
		v = t.proceed(c, v, t.responses(v))
	}
	if len(used) < 2 {
		t.because("it asks once")
	}
}

func taskKeysStand(t *trial) {
	means := map[string]string{}
	see := func(v view) {
		for _, q := range v.reply.Asks {
			words := marshal([]any{q.Method, q.Message, q.URL, canonical(q.Schema)})
			if known, ok := means[q.Key]; ok && known != words {
				t.failAt(v.exchange, "key %q asked %s, and asks %s", q.Key, known, words)
			}
			means[q.Key] = words
		}
	}
	c := t.taker()
	v := t.asking(c)
	see(v)
	for range 3 {
		see(t.settle(c, v.task()))
	}
	t.playTask(c, see)
}

func taskPartial(t *trial) {
	c := t.taker()
	v := t.asking(c)
	for range maxRounds {
		if !v.asks() || len(v.reply.Asks) > 1 {
			break
		}
		v = t.proceed(c, v, t.responses(v))
	}
	if !v.asks() {
		t.skip("needs a task that asks several questions at once")
	}
	all := t.responses(v)
	first := v.reply.Asks[0].Key
	if s := t.update(c, v.task(), map[string]any{first: all[first]}); s.protocol() {
		t.failAt(s.exchange, "one of several answers is refused")
	}
	now := t.settle(c, v.task())
	if !now.asks() || !slices.ContainsFunc(now.reply.Asks, func(q wire.Question) bool { return q.Key == v.reply.Asks[1].Key }) {
		t.failAt(now.exchange, "it does not wait for the other answers under their keys")
	}
}

func taskUnknownKeys(t *trial) {
	c := t.taker()
	v := t.asking(c)
	t.update(c, v.task(), map[string]any{"nobody-1": accepting(map[string]any{}), "__proto__": accepting(map[string]any{})})
	if now := t.settle(c, v.task()); !now.asks() || !sameKeys(v, now) {
		t.failAt(now.exchange, "an answer that nobody asked for changes the task")
	}
	answered := t.responses(v)
	now := t.proceed(c, v, answered)
	t.update(c, v.task(), answered)
	again := t.settle(c, v.task())
	if again.Status != now.Status || again.asks() && !sameKeys(now, again) {
		t.failAt(again.exchange, "an answer that came again changes the task")
	}
}

func taskFinal(t *trial) {
	c := t.taker()
	id, end := t.playTask(c)
	before := t.count()
	t.update(c, id, map[string]any{"nobody-1": accepting(map[string]any{})})
	t.about(c, "tasks/cancel", id, nil)
	again := t.settle(c, id)
	if again.Status != end.Status || again.end().outline() != end.end().outline() {
		t.failAt(again.exchange, "it ended as %s, and is %s now", end.Status, again.Status)
	}
	t.nothingSince(before, Fail, again.exchange, "happened after its end")
}

func taskSameResult(t *trial) {
	_, end := t.playTask(t.taker())
	if s := end.end(); !t.same(s, t.honest.end()) {
		t.failAt(end.exchange, "by round trips it ends otherwise: %s", t.honest.end().outline())
	}
}

func taskSameQuestions(t *trial) {
	asked := func(questions []wire.Question) string {
		var all []string
		for _, q := range questions {
			all = append(all, q.Message+q.URL)
		}
		return strings.Join(all, "; ")
	}
	var all []wire.Question
	seen := map[string]bool{}
	_, end := t.playTask(t.taker(), func(v view) {
		for _, q := range v.reply.Asks {
			if !seen[q.Key] {
				seen[q.Key] = true
				all = append(all, q)
			}
		}
	})
	if got, want := asked(all), asked(t.honest.questions()); got != want {
		t.failAt(end.exchange, "it asks %q, and by round trips %q", got, want)
	}
}

func taskEffectsOnce(t *trial) {
	t.counted()
	for _, cancels := range []bool{false, true} {
		c, before := t.taker(), t.count()
		v := t.asking(c)
		for rounds := 0; v.asks() && rounds < maxRounds; rounds++ {
			responses := t.responses(v)
			var sent sync.WaitGroup
			for range 3 {
				sent.Go(func() {
					t.about(c, "tasks/update", v.task(), map[string]any{"inputResponses": responses})
				})
			}
			if cancels {
				sent.Go(func() { t.about(c, "tasks/cancel", v.task(), nil) })
			}
			sent.Wait()
			v = t.await(c, v)
		}
		t.atMost(t.usual, Fail, before, v.exchange)
	}
}

func taskCancelled(t *trial) {
	c := t.taker()
	v := t.asking(c)
	before := t.count()
	if s := t.about(c, "tasks/cancel", v.task(), nil); s.protocol() {
		t.failAt(s.exchange, "the cancellation is refused")
	}
	for end := time.Now().Add(t.patience); v.asks(); v = t.settle(c, v.task()) {
		if time.Now().After(end) {
			t.failAt(v.exchange, "it still asks %v after it was cancelled", t.patience)
		}
		time.Sleep(pollEvery)
	}
	if v.Status == "completed" && v.end().complete() {
		t.failAt(v.exchange, "it completes without its answers")
	}
	if too := surplus(t.since(before), func(string) int { return 0 }); too != "" {
		t.endAt(Note, v.exchange, "after the cancellation %s", too)
	}
}

func taskBare(t *trial) {
	c := t.taker()
	see := func(v view) {
		switch raw := string(v.reply.Result); {
		case v.reply.State != "":
			t.failAt(v.exchange, "it has a requestState")
		case strings.Contains(raw, "io.modelcontextprotocol/related-task"):
			t.failAt(v.exchange, "it names itself in _meta")
		}
	}
	created := t.create(c)
	see(created)
	t.playTask(c, see)
}

func taskKept(t *trial) {
	c := t.taker()
	created := t.create(c)
	see := func(v view) {
		if v.Created != created.Created || (v.TTL == nil) != (created.TTL == nil) || v.TTL != nil && *v.TTL < *created.TTL {
			t.failAt(v.exchange, "the task was created at %s to live for %s ms, and is shown with %s and %s",
				created.Created, marshal(created.TTL), v.Created, marshal(v.TTL))
		}
	}
	v := t.settle(c, created.ID, see)
	for rounds := 0; v.asks() && rounds < maxRounds; rounds++ {
		v = t.proceed(c, v, t.responses(v), see)
	}
	if !v.ended() {
		t.failAt(v.exchange, "the task has no end")
	}
	t.settle(t.taker(), created.ID, see) // for a client that comes later, too
}

func taskHeaders(t *trial) {
	t.needs(t.subject.HTTP, "a server over HTTP")
	c := t.taker()
	v := t.asking(c)
	// The header is made of the name, if there is one.
	t.eachMethod(c, v, map[string]any{"name": "other"}, func(method string, s exchange) {
		if !s.failsWith(headerMismatch) {
			t.failAt(s, "%s is not refused with %d", method, headerMismatch)
		}
	})
}

const headerMismatch = -32020

func taskMisfit(t *trial) {
	c := t.taker()
	v := t.asking(c)
	before := t.count()
	misfits := map[string]any{}
	for _, q := range v.reply.Asks {
		misfits[q.Key] = map[string]any{"action": "shrug"}
	}
	now := t.proceed(c, v, misfits)
	if now.asks() {
		for _, q := range now.reply.Asks {
			if misfits[q.Key] != nil {
				t.failAt(now.exchange, "key %q is used again", q.Key)
			}
		}
		for _, q := range v.reply.Asks {
			again := func(other wire.Question) bool {
				return canonical(other.Schema) == canonical(q.Schema) || strings.Contains(other.Message, q.Message)
			}
			if !slices.ContainsFunc(now.reply.Asks, again) {
				t.failAt(now.exchange, "an answer with an undefined action to %q was taken", q.Message)
			}
		}
		return
	}
	if now.end().complete() {
		t.failAt(now.exchange, "an answer with an undefined action was taken")
	}
	t.nothingSince(before, Fail, now.exchange, "happened")
}

func taskCrash(t *trial) {
	t.counted()
	t.needs(t.subject.CrashAtEffect != nil && t.subject.Revive != nil, "a way to end the server at an effect")
	before := t.count()
	c := t.taker()
	v := t.asking(c)
	t.subject.CrashAtEffect(true)
	for rounds := 0; v.reply != nil && v.asks() && rounds < maxRounds; rounds++ {
		s := t.about(c, "tasks/update", v.task(), map[string]any{"inputResponses": t.responses(v)})
		for end := time.Now().Add(t.patience); s.reply != nil && time.Now().Before(end) && t.subject.Died() == nil; {
			time.Sleep(pollEvery)
			if s = t.about(c, "tasks/get", v.task(), nil); s.reply == nil || s.ended() || s.asks() && !sameKeys(v, s) {
				break
			}
		}
		if s.reply == nil || s.ended() || t.subject.Died() != nil {
			break
		}
		v = s
	}
	t.subject.CrashAtEffect(false)
	if t.subject.Died() == nil {
		t.skip("needs an effect behind the questions of a task")
	}
	t.revive()
	c = t.taker()
	for end := time.Now().Add(10 * t.patience); ; time.Sleep(pollEvery) {
		now := t.about(c, "tasks/get", v.task(), nil)
		t.answered(now.exchange)
		switch {
		case now.protocol(): // the server kept nothing of it
		case now.asks():
			t.update(c, v.task(), t.responses(now))
			fallthrough
		case !now.ended():
			if time.Now().After(end) {
				t.failAt(now.exchange, "the task has no end")
			}
			continue
		}
		t.repeated(before, now.exchange)
		if now.ended() {
			t.because("it ends as %s: %s", now.Status, clean(now.end().outline()))
		} else {
			t.because("it is not known any more")
		}
		return
	}
}

func taskLegacy(t *trial) {
	t.needsTasks()
	c := t.dial(t.subject.Dial, t.subject.First, &wire.Options{Version: wire.Legacy, TakesTasks: true, Answers: wire.Answers{"*": t.honestly}})
	s := t.exchange(c, t.request(t.scenario.Arguments))
	if s.reply.ResultType == "task" {
		t.failAt(s, "a task for a legacy client")
	}
	v := t.asking(t.taker())
	t.eachMethod(c, v, nil, func(method string, s exchange) {
		if !s.protocol() {
			t.failAt(s, "%s is served to a legacy client", method)
		}
	})
}
