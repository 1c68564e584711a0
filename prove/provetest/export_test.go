package provetest

import "time"

// LookEvery has watch look this often from now on.
func LookEvery(d time.Duration) { lookEvery = d }
