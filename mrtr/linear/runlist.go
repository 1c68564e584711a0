package linear

// runList is a list through the runs themselves, oldest first.
type runList struct {
	by          int // which of the links of a run
	first, last *run
	holding
}

// The links of a run.
const (
	byAge = iota // of the running, or of the parked
	byHeatOfAll
	byHeatOfOwn
)

type link struct {
	list       *runList
	prev, next *run
}

func (l *runList) push(r *run) {
	r.links[l.by] = link{list: l, prev: l.last}
	if l.last != nil {
		l.last.links[l.by].next = r
	} else {
		l.first = r
	}
	l.last = r
	l.holding = l.plus(holding{1, r.weight})
}

func (l *runList) remove(r *run) {
	at := &r.links[l.by]
	if at.prev != nil {
		at.prev.links[l.by].next = at.next
	} else {
		l.first = at.next
	}
	if at.next != nil {
		at.next.links[l.by].prev = at.prev
	} else {
		l.last = at.prev
	}
	*at = link{}
	l.holding = l.minus(holding{1, r.weight})
}

// unlist takes a run out of all lists.
func (r *run) unlist() {
	for _, at := range r.links {
		if at.list != nil {
			at.list.remove(r)
		}
	}
}

func (l *runList) all() []*run {
	all := make([]*run, 0, l.places)
	for r := l.first; r != nil; r = r.links[l.by].next {
		all = append(all, r)
	}
	return all
}
