//go:build unix

package roundcost

import (
	"syscall"
	"time"
)

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // only a wrong argument can make it fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
