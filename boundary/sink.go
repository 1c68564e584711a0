package boundary

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// logPatience is how long a call waits for its record to be written.
const logPatience = time.Second

// A sink writes log records so that a log handler that panics or does not return
// costs no call its answer. A record is written before the call is answered, unless
// that takes longer than logPatience. While a record is overdue, further ones are
// dropped, and the next that is written says how many.
type sink struct {
	logger *slog.Logger // nil: nothing is logged

	overdue atomic.Int32 // writers that no call waits for any longer
	mu      sync.Mutex
	dropped int // records since the last one that was written; guarded by mu
}

func newSink(logger *slog.Logger) *sink {
	if logger.Handler() == slog.DiscardHandler {
		return &sink{} // nothing to pay for
	}
	return &sink{logger: slog.New(recoveringHandler{logger.Handler()})}
}

// log writes a record with these attributes, and waits for it.
func (s *sink) log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if s.logger == nil {
		return
	}
	told := make(chan struct{})
	go s.record(ctx, level, message, func() []slog.Attr { return attrs }, func() { close(told) })
	<-told
}

// record writes a record whose attributes are made only if it is written, and calls then once
// that is done, or has taken logPatience. The logger may keep the goroutine for ever, or end it.
func (s *sink) record(ctx context.Context, level slog.Level, message string, attrs func() []slog.Attr, then func()) {
	if s.logger == nil || s.drops() {
		then()
		return
	}
	var late atomic.Bool // what follows then may change what attrs reads
	patience := time.AfterFunc(logPatience, func() {
		late.Store(true)
		s.overdue.Add(1)
		then()
	})
	defer func() {
		if patience.Stop() {
			then()
		} else {
			s.overdue.Add(-1)
		}
	}()
	if s.logger.Enabled(ctx, level) && !late.Load() {
		s.logger.LogAttrs(ctx, level, message, s.withDropped(attrs())...)
	}
}

// drops counts a record that is not written because another is overdue.
func (s *sink) drops() bool {
	if s.overdue.Load() <= 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped++
	return true
}

func (s *sink) withDropped(attrs []slog.Attr) []slog.Attr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped > 0 {
		attrs = append(attrs, slog.Int("droppedRecords", s.dropped))
		s.dropped = 0
	}
	return attrs
}

// recoveringHandler drops the panics of the operator's log handler, which must not
// fail the call that is being logged.
type recoveringHandler struct{ slog.Handler }

func (h recoveringHandler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.Handler.Enabled(ctx, level)
}

func (h recoveringHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return h.Handler.Handle(ctx, r)
}
