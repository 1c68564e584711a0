package sighting

// Len is how many records are watched.
func (l *Log[Key, Revision]) Len() int { return len(l.of) }
