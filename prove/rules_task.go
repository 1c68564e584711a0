package prove

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

// The reasons of several rules, which SEP-2663 does not demand.
const (
	tasksKept  = "a client plans by the time to live that it was told, and an end is final"
	oneHandler = "a task is one more way to ask: the call is the same"
)

var taskRules = []Rule{
	{"task/undeclared", "A client that does not declare the extension gets no task.", Must, tasksGated, sdkOwns, nil, taskUndeclared},
	{"task/resolves", "A task can be read as soon as its client knows of it.", Must, tasksDurable, "Write the task down before its id is returned.", nil, taskResolves},
	{"task/foreign-ids", "An altered, made-up or foreign id is unknown.", Must, tasksUnknown, "Look up a task by its id and its owner.", nil, taskForeignIDs},
	{"task/keys", "A key means one request in a task.", Must, keysUnique, "Number the questions of a task.", nil, taskKeys},
	{"task/answers", "A task waits for missing answers, and ignores those that nobody asked for.", Should, keysIgnored, "Match answers with what is outstanding.", nil, taskAnswers},
	{"task/misfit", "An answer that does not fit is asked for again, under another key.", Must, keysUnique, judgeIt, nil, taskMisfit},
	{"task/kept", "A task keeps its time to live and its end, and has no requestState.", Ours, tasksKept, "Keep a task until its time to live is over.", nil, taskKept},
	{"task/same", "A task asks and ends like the same call by round trips.", Ours, oneHandler, "Serve both by one handler.", nil, taskSame},
	{"task/once", "Answers sent twice, beside a cancellation, have no effect twice.", Promise, onceOnly, claimIt, []*ability{counts}, taskOnce},
	{"task/cancelled", "A task cancelled while it waits ends, and nothing happens.", Promise, agreedTo, askFirst, nil, taskCancelled},
	{"task/headers", "A request whose header names another task is refused.", Must, routed, sdkOwns, []*ability{headers}, taskHeaders},
	{"task/crash", "A task whose server died behind the effect ends, without a second one.", Promise, onceOnly, claimIt, []*ability{counts, crashes}, taskCrash},
}

const taskGroup = "task"

const notRecognized = -32602

// halfDeclared are declarations that do not declare the extension.
var halfDeclared = []wire.Capabilities{
	`{"elicitation":{"form":{},"url":{}},"tasks":{"requests":{"tools":{"call":{}}}}}`,
	`{"elicitation":{"form":{},"url":{}},"extensions":{}}`,
	`{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/other":{}}}`,
}

func taskUndeclared(t *trial) {
	if !t.tasks {
		t.skip("needs a server that offers tasks")
	}
	for _, declared := range halfDeclared {
		if s := t.asClient(declared); s.reply.ResultType == "task" {
			t.failAt(s, "a task for a client that declares %s", declared)
		}
	}
	v := t.asking(t.taker())
	t.eachMethod(t.client(), v, nil, func(method string, s exchange) {
		if !s.failsWith(missingCapability) {
			t.failAt(s, "%s is not refused with %d", method, missingCapability)
		}
	})
	c, err := t.tryDial(t.subject.Dial, t.subject.First, &wire.Options{Version: wire.Legacy, TakesTasks: true, Answers: wire.Answers{"*": t.honestly}})
	if err != nil {
		return
	}
	if s := t.exchange(c, t.request(t.scenario.Arguments)); s.reply.ResultType == "task" {
		t.failAt(s, "a task for a legacy client")
	}
	t.eachMethod(c, v, nil, func(method string, s exchange) {
		if !s.protocol() {
			t.failAt(s, "%s is served to a legacy client", method)
		}
	})
}

var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

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

// taskForeignIDs sends ids that name no task of their sender.
func taskForeignIDs(t *trial) {
	c := t.taker()
	v := t.asking(c)
	id, answers := v.task(), map[string]any{"inputResponses": t.responses(v)}
	refused := func(s view) {
		t.answered(s.exchange)
		if s.request.Method == "tasks/update" && !s.protocol() {
			return // it may be acknowledged whatever it names
		}
		if !s.failsWith(notRecognized) {
			t.failAt(s.exchange, "it is not refused with %d", notRecognized)
		}
	}
	for _, m := range slices.Concat(flipped(id), cut(id), extended(id), []mutant{{"made up", "nobody"}, {"empty", ""}}) {
		for _, method := range taskMethods {
			refused(t.about(c, method, m.state, answers))
		}
	}
	if t.subject.Other != nil {
		stranger := t.dial(t.subject.Dial, t.subject.Other, &wire.Options{TakesTasks: true})
		refused(t.about(stranger, "tasks/get", id, nil))
		// An update and a cancellation may be acknowledged without a look at the task.
		t.about(stranger, "tasks/update", id, answers)
		t.about(stranger, "tasks/cancel", id, nil)
	}
	if now := t.about(c, "tasks/get", id, nil); !now.asks() || !sameKeys(v, now) {
		t.failAt(now.exchange, "the task is not as it was before requests that did not name it, or were another caller's")
	}
}

func taskKeys(t *trial) {
	means, used := map[string]string{}, map[string]int{}
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
	v := t.awaits(c, t.create(c).ID, see)
	for round := 0; v.asks() && round < maxRounds; round++ {
		for _, q := range v.reply.Asks {
			if used[q.Key]++; used[q.Key] > 1 {
				t.failAt(v.exchange, "key %q is used again", q.Key)
			}
		}
		t.awaits(c, v.task(), see)
		v = t.proceed(c, v, t.responses(v), see)
	}
	if len(used) < 2 {
		t.because("it asks once")
	}
}

func taskAnswers(t *trial) {
	c := t.taker()
	v := t.asking(c)
	t.update(c, v.task(), map[string]any{"nobody-1": accepting(map[string]any{}), "__proto__": accepting(map[string]any{})})
	if now := t.awaits(c, v.task()); !now.asks() || !sameKeys(v, now) {
		t.failAt(now.exchange, "an answer that nobody asked for changes the task")
	}
	answered := t.responses(v)
	if len(v.reply.Asks) > 1 {
		first := v.reply.Asks[0].Key
		if s := t.update(c, v.task(), map[string]any{first: answered[first]}); s.protocol() {
			t.failAt(s.exchange, "one of several answers is refused")
		}
		now := t.awaits(c, v.task())
		if !now.asks() || !slices.ContainsFunc(now.reply.Asks, func(q wire.Question) bool { return q.Key == v.reply.Asks[1].Key }) {
			t.failAt(now.exchange, "it does not wait for the other answers under their keys")
		}
	}
	now := t.proceed(c, v, answered)
	t.update(c, v.task(), answered)
	again := t.awaits(c, v.task())
	if again.Status != now.Status || again.asks() && !sameKeys(now, again) {
		t.failAt(again.exchange, "an answer that came again changes the task")
	}
}

func taskKept(t *trial) {
	var created *view
	see := func(v view) {
		if created == nil {
			created = &v
		}
		if v.Created != created.Created || (v.TTL == nil) != (created.TTL == nil) || v.TTL != nil && *v.TTL < *created.TTL {
			t.failAt(v.exchange, "the task was created at %s to live for %s ms, and is shown with %s and %s",
				created.Created, marshal(created.TTL), v.Created, marshal(v.TTL))
		}
		if v.reply.State != "" {
			t.failAt(v.exchange, "it has a requestState")
		}
		if strings.Contains(string(v.reply.Result), "io.modelcontextprotocol/related-task") {
			t.failAt(v.exchange, "it names itself in _meta")
		}
	}
	c := t.taker()
	id, v := t.playTask(c, see)
	since := t.counting()
	t.update(c, id, map[string]any{"nobody-1": accepting(map[string]any{})})
	t.about(c, "tasks/cancel", id, nil)
	again := t.awaits(t.taker(), id, see) // for a client that comes later, too
	if again.Status != v.Status || again.end().outline() != v.end().outline() {
		t.failAt(again.exchange, "it ended as %s, and is %s now", v.Status, again.Status)
	}
	t.onlyAllowed(since(), nil, again.exchange, "after its end")
}

func taskSame(t *trial) {
	asked := map[string]bool{}
	since := t.counting()
	_, end := t.playTask(t.taker(), func(v view) {
		for _, q := range v.reply.Asks {
			asked[q.Key] = true
		}
	})
	if want := len(t.honest.questions()); len(asked) != want {
		t.failAt(end.exchange, "it asks %d questions, and by round trips %d", len(asked), want)
	}
	if !end.end().complete() {
		t.failAt(end.exchange, "by round trips it completes")
	}
	t.onlyAllowed(since(), t.usual(), end.exchange, "in a task")
}

func taskOnce(t *trial) {
	t.seesEffects()
	for _, cancels := range []bool{false, true} {
		c, since := t.taker(), t.counting()
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
		t.onlyAllowed(since(), t.usual(), v.exchange, "in a task whose answers came three times")
	}
}

func taskCancelled(t *trial) {
	c := t.taker()
	v := t.asking(c)
	since := t.counting()
	if s := t.about(c, "tasks/cancel", v.task(), nil); s.protocol() {
		t.failAt(s.exchange, "the cancellation is refused")
	}
	v = t.poll(c, v.task(), view.ended)
	if v.Status == "completed" && v.end().complete() {
		t.failAt(v.exchange, "it completes without its answers")
	}
	t.onlyAllowed(since(), nil, v.exchange, "after the cancellation")
}

func taskHeaders(t *trial) {
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
	since := t.counting()
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
	t.onlyAllowed(since(), nil, now.exchange, "by an answer that does not fit")
}

func taskCrash(t *trial) {
	t.seesEffects()
	since := t.counting()
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
		if too := t.unexplained(since(), t.usual()); too != "" {
			t.endAt(t.repeats(), now.exchange, "%s in a task", too)
		}
		if now.ended() {
			t.because("it ends as %s: %s", now.Status, clean(now.end().outline()))
		} else {
			t.because("it is not known any more")
		}
		return
	}
}
