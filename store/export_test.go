package store

// Held returns how many records there are, expired ones too, and their size.
func (m *Memory) Held() (records, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records), m.bytes
}
