package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mrtr-go/sdk/internal/wire"
)

// prompter lets a person answer the questions of a call.
type prompter struct {
	ctx context.Context
	printer
	lines <-chan string
	// echoes says that the terminal shows the typed text by itself.
	echoes bool

	mu sync.Mutex // one question at a time
}

func newPrompter(ctx context.Context, t terminal) *prompter {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(t.in); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return &prompter{ctx: ctx, printer: printerFor(t.out), lines: lines, echoes: isTerminal(t.in)}
}

// answer asks until the person types an answer that fits. The end of the input
// cancels the question.
func (p *prompter) answer(q wire.Question) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	choices := choicesOf(q)
	fmt.Fprintf(p, "\n  %s\n", p.bold(q.Message))
	for i, choice := range choices {
		fmt.Fprintf(p, "    %d  %s\n", i+1, choice)
	}
	fmt.Fprint(p, "    d  decline\n    c  cancel\n")
	for {
		fmt.Fprint(p, "  your answer: ")
		select {
		case <-p.ctx.Done():
			return wire.Cancel(q)
		case typed, ok := <-p.lines:
			if !ok {
				fmt.Fprint(p, "\n  (end of input: cancelled)\n\n")
				return wire.Cancel(q)
			}
			if !p.echoes {
				fmt.Fprintln(p, typed)
			}
			if response := understand(q, typed, choices); response != nil {
				fmt.Fprintln(p)
				return response
			}
			fmt.Fprintf(p, "  %s\n", p.bad(fmt.Sprintf("%q is not a choice: type a number from 1 to %d, d or c.", shorten(typed, 20), len(choices))))
		}
	}
}

// understand turns the typed text into a response, nil if it fits none.
func understand(q wire.Question, typed string, choices []string) any {
	typed = strings.TrimSpace(typed)
	switch strings.ToLower(typed) {
	case "d", "decline":
		return wire.Decline(q)
	case "c", "cancel":
		return wire.Cancel(q)
	}
	i := slices.IndexFunc(choices, func(choice string) bool { return strings.EqualFold(choice, typed) })
	if n, err := strconv.Atoi(typed); err == nil {
		i = n - 1
	}
	if i < 0 || i >= len(choices) {
		return nil
	}
	return wire.Value(choices[i])(q)
}

// choicesOf are the values that a question's form allows.
func choicesOf(q wire.Question) []string {
	var f form
	if json.Unmarshal(q.Schema, &f) != nil {
		return nil
	}
	return f.Properties[q.Key].Enum
}
