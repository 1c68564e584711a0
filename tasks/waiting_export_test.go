package tasks

// Kept is how many tasks are kept as waiting, expired ones among them.
func (m *Manager) Kept() int {
	m.waits.mu.Lock()
	defer m.waits.mu.Unlock()
	return len(m.waits.of)
}
