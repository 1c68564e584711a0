package mrtr

// CountRegistrations counts the names and addresses that a runtime remembers.
func CountRegistrations(rt *Runtime) int { return len(rt.registrations.served) }
