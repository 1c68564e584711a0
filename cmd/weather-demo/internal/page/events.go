package page

import (
	"context"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// event is something that happened on an instance and appears in no message.
type event struct {
	Seq       int      `json:"seq"`
	Instance  string   `json:"instance"`
	Kind      string   `json:"kind"`
	Call      string   `json:"call,omitempty"`
	Handler   string   `json:"handler,omitempty"`
	Questions []string `json:"questions,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	ErrorType string   `json:"error_type,omitempty"`
	Text      string   `json:"text,omitempty"` // of a charge
	File      string   `json:"file,omitempty"` // where it was written
	Line      int      `json:"line,omitempty"`
}

// maxEvents bounds the memory of a bench: many times the matrix, which makes
// the most calls at once.
const maxEvents = 4096

// events holds the events of a bench, in order.
type events struct {
	mu   sync.Mutex
	last int
	list []event
}

func (s *events) add(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	e.Seq = s.last
	if s.list = append(s.list, e); len(s.list) > maxEvents {
		s.list = append([]event(nil), s.list[len(s.list)-maxEvents/2:]...)
	}
}

func (s *events) after(seq int) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer := min(max(s.last-seq, 0), len(s.list))
	return append([]event{}, s.list[len(s.list)-newer:]...)
}

// serveEvents answers with the events after the one numbered by the
// parameter "after". An observer is told of a round before its response is
// written, so who asks after the response gets all of that round.
func serveEvents(w http.ResponseWriter, r *http.Request, b *bench) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		http.Error(w, "The parameter after must be a number.", http.StatusBadRequest)
		return
	}
	writeJSON(w, b.events.after(after))
}

// drawn are the kinds of events that the page draws. Each is there before the response to its
// round is sent. Others, such as the store's signs of life, come at any time, and the page would
// take one for something that the next round did.
var drawn = []observe.Kind{observe.HandlerEntered, observe.QuestionsAsked, observe.CallCompleted, observe.CallStopped, observe.StateRefused, observe.RoundRefused}

// watcher writes down the events of an instance.
type watcher struct {
	instance string
	to       *events
	life     context.Context // of the instance
	entered  atomic.Value    // the id of the call whose handler was entered last
}

// Observe implements [observe.Observer].
func (w *watcher) Observe(_ context.Context, e observe.Event) {
	if w.life.Err() != nil || !slices.Contains(drawn, e.Kind) {
		return
	}
	if e.Kind == observe.HandlerEntered {
		w.entered.Store(e.Call)
	}
	w.to.add(event{
		Instance: w.instance, Kind: string(e.Kind), Call: e.Call, Handler: e.Handler,
		Questions: e.Questions, Reason: e.Reason, ErrorType: weather.ErrorType(e.Err),
	})
}

// workTime is how long a report takes in a task: long enough to kill its instance by hand.
const workTime = 8 * time.Second

func (w *watcher) works(ctx context.Context) {
	w.did("at work", "")
	select {
	case <-time.After(workTime):
	case <-ctx.Done():
	}
}

// did notes an action of a handler, with its call and the line of its source.
func (w *watcher) did(kind, text string) {
	if w.life.Err() != nil {
		return
	}
	e := event{Instance: w.instance, Kind: kind, Text: text}
	e.Call, _ = w.entered.Load().(string)
	e.File, e.Line = writtenAt()
	w.to.add(e)
}

// writtenAt is the first line on the stack that belongs to a style.
func writtenAt() (file string, line int) {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		f, more := frames.Next()
		if weather.OfStyle(f.Function) {
			return path.Base(f.File), f.Line
		}
		if !more {
			return "", 0
		}
	}
}
