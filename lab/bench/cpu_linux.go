package main

import (
	"syscall"
	"time"
	"unsafe"
)

// processorTime is what a process has spent since it began, all of its threads, in user
// mode and in the kernel: utime and stime of /proc, in nanoseconds and not in ticks.
func processorTime(pid int) (time.Duration, error) {
	const ofProcess = 2                   // CPUCLOCK_SCHED
	clock := uintptr(^pid<<3) | ofProcess // as clock_getcpuclockid(3) makes it
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
