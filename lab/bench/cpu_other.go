//go:build !linux

package main

import "time"

func processorTime(int) (time.Duration, error) { return 0, &missing{"Linux"} }
