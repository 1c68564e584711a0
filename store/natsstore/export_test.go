package natsstore

import "time"

// RetireAfter has Due retire an entry of its index that is as old as this.
func (s *Store) RetireAfter(d time.Duration) { s.retireAfter = d }

// LookAgain has the settings looked at by the next write, as they are after a minute.
func (s *Store) LookAgain() { s.settings.LookAgain() }
