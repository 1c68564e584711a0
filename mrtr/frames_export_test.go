package mrtr

import "github.com/mrtr-go/sdk/statecodec"

// FrameCount counts the linear runs of a runtime.
type FrameCount struct{ Parked, Running, Tokens, Places, Principals int }

// CountFrames looks into a runtime's table.
func CountFrames(rt *Runtime) FrameCount {
	t := rt.frames
	t.mu.Lock()
	defer t.mu.Unlock()
	known := len(t.of)
	if _, ok := t.of[""]; ok {
		known--
	}
	return FrameCount{t.parked.places, t.running.places, len(t.byToken), t.all.places, known}
}

// HeldBytes are the bytes that a runtime counts for its frames.
func HeldBytes(rt *Runtime) int {
	rt.frames.mu.Lock()
	defer rt.frames.mu.Unlock()
	return rt.frames.all.bytes
}

// FrameToken is the name of the frame that a state made by this runtime's
// codec leads to. The request is tools/call for the trip tool.
func FrameToken(rt *Runtime, arguments, token string) string {
	payload, err := rt.codec.Open(statecodec.Binding{Method: "tools/call", Target: "trip", Arguments: []byte(arguments)}, token)
	if err != nil {
		panic(err)
	}
	st, ok := decodeState(payload)
	if !ok {
		panic("the state cannot be read")
	}
	return st.frame
}

// Unsigned replaces the codec of a runtime by one that seals nothing, as on a
// server that hands its state to the client as it is.
func Unsigned(rt *Runtime) {
	own := *rt.opts.State
	own.Readable = true
	rt.codec, rt.opts.State = unsigned{}, &own
}

type unsigned struct{}

func (unsigned) Seal(_ statecodec.Binding, payload []byte) (string, error) {
	return string(payload), nil
}

func (unsigned) AppendOpen(dst []byte, _ statecodec.Binding, token string) ([]byte, error) {
	return append(dst, token...), nil
}

func (unsigned) Open(_ statecodec.Binding, token string) ([]byte, error) {
	return []byte(token), nil
}

// JanitorPending reports whether a timer is set. It stops it.
func JanitorPending(rt *Runtime) bool {
	rt.frames.mu.Lock()
	defer rt.frames.mu.Unlock()
	return rt.frames.janitor != nil && rt.frames.janitor.Stop()
}

// CountRegistrations counts the names whose handlers a runtime remembers.
func CountRegistrations(rt *Runtime) int {
	rt.registrations.mu.Lock()
	defer rt.registrations.mu.Unlock()
	return len(rt.registrations.served)
}

// Expire evicts every frame, as if the time of all were up.
func Expire(rt *Runtime) {
	t := rt.frames
	t.mu.Lock()
	for _, r := range t.parked.all() {
		r.expires = 0
	}
	t.mu.Unlock()
	t.evict()
}
