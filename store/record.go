package store

import "time"

// record is one record of a [Memory], guarded by its mutex.
type record struct {
	name     string
	value    []byte
	revision Revision
	expires  time.Time
	index    int           // its place in byExpiry
	changed  chan struct{} // nil while nobody waits
}

// watch returns a channel that is closed at the record's next change.
func (r *record) watch() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (r *record) announce() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// byExpiry is a heap of records, the first to expire on top.
type byExpiry []*record

func (h byExpiry) Len() int           { return len(h) }
func (h byExpiry) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }
func (h byExpiry) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *byExpiry) Push(x any) {
	r := x.(*record)
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *byExpiry) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}
