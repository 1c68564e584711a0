package mrtr

// strandList is a list through the strands themselves, oldest first.
type strandList struct {
	first, last *strand
	len         int
}

func (l *strandList) push(s *strand) {
	s.list, s.prev, s.next = l, l.last, nil
	if l.last != nil {
		l.last.next = s
	} else {
		l.first = s
	}
	l.last = s
	l.len++
}

func (l *strandList) remove(s *strand) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.last = s.prev
	}
	s.list, s.prev, s.next = nil, nil, nil
	l.len--
}

func (l *strandList) all() []*strand {
	all := make([]*strand, 0, l.len)
	for s := l.first; s != nil; s = s.next {
		all = append(all, s)
	}
	return all
}
