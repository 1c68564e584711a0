package store

import "time"

// Held returns how many records there are, expired ones too, and their size.
func (m *Memory) Held() (records, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records), m.bytes
}

// Readings are those of a clock whose wall shows one time when another has come.
func (c Clock) Readings(wall, now time.Time) (early, late time.Time) { return c.readings(wall, now) }
