package pgstore

import "time"

// MoveClock lets the clock of this handle be ahead.
func (s *Store) MoveClock(by time.Duration) { s.clock = s.clock.Ahead(by) }

// LookAgain has the settings looked at by the next write, as they are after a minute.
func (s *Store) LookAgain() { s.settings.LookAgain() }
