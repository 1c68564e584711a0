//go:build unix

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

var ways = []string{"HTTP", "WebSocket", "session"}

// faults befall the instance that has begun a call.
var faults = []struct {
	name   string
	strike func(t *testing.T, f *site)
}{
	{"stands still", func(t *testing.T, f *site) { require.NoError(t, f.instances["a"].Halt(t.Context())) }},
	{"dies", func(t *testing.T, f *site) {
		f.instances["a"].Kill()
	}},
	{"is slow", func(t *testing.T, f *site) {
		a := f.instances["a"]
		require.NoError(t, a.Halt(t.Context()))
		time.AfterFunc(time.Second, func() { _ = a.Thaw() })
	}},
	{"is removed", func(t *testing.T, f *site) { require.NoError(t, f.instances["a"].Signal(syscall.SIGTERM)) }},
	{"the router restarts", func(t *testing.T, f *site) {
		address := strings.TrimPrefix(f.url, "http://")
		f.die(t)
		f.route(t, names...)
		f.listen(t, address)
	}},
}

// The table of docs/operating.md: each fault, when it comes, by each way. HTTP and WebSocket
// share a column, and faults that end alike share a row. An instance that stands still does
// so until all calls have ended.
func TestFaults(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	require.NoError(t, err)
	cells := make([][4]string, len(faults))
	t.Run("all", func(t *testing.T) {
		for i, fault := range faults {
			for w, when := range []string{"while the user thinks", "in the effect"} {
				t.Run(fault.name+", "+when, func(t *testing.T) {
					t.Parallel()
					ends := struckBy(t, fault.strike, w == 1, fault.name == "is removed")
					require.Equal(t, ends["HTTP"], ends["WebSocket"])
					cells[i][2*w], cells[i][2*w+1] = ends["HTTP"], ends["session"]
				})
			}
		}
	})
	alike := ""
	for i, fault := range faults {
		alike += fault.name
		if i+1 < len(faults) && cells[i+1] == cells[i] {
			alike += ", "
			continue
		}
		row := "| " + alike + " | " + strings.Join(cells[i][:], " | ") + " |"
		if t.Log(row); !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/operating.md does not have the row\n%s", row)
		}
		alike = ""
	}
}

// struckBy begins a call of each style by each way at instance a, lets the fault strike all
// of them at one moment, and returns how they ended, by way.
func struckBy(t *testing.T, strike func(*testing.T, *site), working, removed bool) map[string]string {
	var struck atomic.Bool
	f := newSite(t, job{Gate: "gate", Lease: 5 * time.Second}, &mcphttp.RouterOptions{
		Every:  200 * time.Millisecond,
		Within: 3 * time.Second,
		Ready:  func(instance string) bool { return instance == "a" || struck.Load() },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	goOn := make(chan struct{})
	var asked sync.WaitGroup
	var calls sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]map[string][]string{} // by way and end: the styles
	for _, way := range ways {
		ends[way] = map[string][]string{}
		for _, style := range styleNames {
			asked.Add(1)
			once := sync.OnceFunc(asked.Done)
			calls.Go(func() {
				client := newRawClient(way, f.url, &count{}, func() {
					once()
					<-goOn
				})
				defer client.close()
				client.struck = &struck
				end := endOf(client.call(ctx, style, style+"-"+way))
				mu.Lock()
				defer mu.Unlock()
				ends[way][end] = append(ends[way][end], style)
			})
		}
	}
	asked.Wait()
	if working {
		close(goOn)
		require.Eventually(t, func() bool { return f.effects(t, nil).begun == len(ways)*len(styleNames) }, time.Minute, 20*time.Millisecond)
	}
	struck.Store(true)
	strike(t, f)
	if !working {
		close(goOn)
	}
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "gate"), nil, 0o600))
	calls.Wait()
	require.NoError(t, ctx.Err(), "a call did not end: %v", ends)
	require.Empty(t, f.effects(t, nil).twice)
	if removed {
		require.NoError(t, f.instances["a"].Wait())
		f.route(t, "b", "c")
	}
	for _, way := range ways { // the others go on
		client := newRawClient(way, f.url, &count{}, func() {})
		require.NoError(t, client.call(ctx, "journal", "after-"+way))
		client.close()
	}
	words := map[string]string{}
	for way, styles := range ends {
		words[way] = inWords(styles)
	}
	return words
}

// endOf is the end of a call in a word.
func endOf(err error) string {
	var final *finalError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errTold):
		return "lost"
	case errors.As(err, &final) && final.kind == "outcome_unknown":
		return "unknown"
	case errors.As(err, &final) && final.kind == "frame_gone":
		return "gone"
	}
	return err.Error()
}

// inWords names the end of most styles, and the styles with another one.
func inWords(ends map[string][]string) string {
	most := ""
	for end, styles := range ends {
		if len(styles) > len(ends[most]) {
			most = end
		}
	}
	var others []string
	for end, styles := range ends {
		if end != most {
			slices.Sort(styles)
			others = append(others, fmt.Sprintf("; %s: %s", strings.Join(styles, ", "), end))
		}
	}
	slices.Sort(others)
	return most + strings.Join(others, "")
}
