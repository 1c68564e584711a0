package main

import (
	"fmt"

	"github.com/mrtr-go/sdk/check/bench/internal/wire"
)

// load is one measurement: a subject, and how it is driven.
type load struct {
	program   program
	subject   string
	gogc      int // GOGC of the subject, 0 for the default, noCollector for none
	processor bool
	served    bool // to a client, which makes the calls; the others do their work by themselves
}

const noCollector = -1

// inMemory is work that a process does by itself, on one processor, where
// nothing depends on which goroutine was woken where.
func inMemory(p program, subject string) load {
	return load{program: p, subject: subject, processor: true}
}

// served is a server and one client.
func served(subject string) load { return load{program: today, subject: subject, served: true} }

func (l load) of(p program) load   { l.program = p; return l }
func (l load) withGOGC(n int) load { l.gogc = n; return l }

func (l load) environment() []string {
	var env []string
	switch l.gogc {
	case 0:
	case noCollector:
		env = append(env, "GOGC=off")
	default:
		env = append(env, fmt.Sprintf("GOGC=%d", l.gogc))
	}
	if l.processor {
		env = append(env, "GOMAXPROCS=1")
	}
	return env
}

// weather is the call that each client makes.
func weather() *wire.Call {
	return &wire.Call{
		Tool: "weather", Arguments: `{"location":"Lisbon"}`, Requests: 2,
		Answers: map[string]string{"units": "metric"}, Text: "Weather in Lisbon: 22°C, partly cloudy.",
	}
}

// quantity names a reading of a load.
type quantity string

const (
	cpu          quantity = "CPU"
	wall         quantity = "time"
	allocs       quantity = "allocations"
	heapBytes    quantity = "bytes"
	instructions quantity = "instructions" // SHA-256's compression function taken off
	word         quantity = "word"         // the figure of a subject that states it when it is made
	heldBytes    quantity = "held bytes"
)

// reading is one quantity of one load.
type reading struct {
	load
	quantity quantity
}

func (l load) read(q quantity) reading { return reading{l, q} }
