package natsstore

// LookAgain has the settings looked at by the next write, as they are after a minute.
func (s *Store) LookAgain() { s.settings.LookAgain() }
