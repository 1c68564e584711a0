package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// transcript prints who does what, one line each.
type transcript struct {
	mu  sync.Mutex
	out io.Writer
}

func (t *transcript) say(who, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := fmt.Sprintf("%-12s%s", who, fmt.Sprintf(format, args...))
	fmt.Fprintln(t.out, strings.TrimRight(line, " "))
}
