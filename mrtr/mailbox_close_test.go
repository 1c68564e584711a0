package mrtr_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// Close has the same bound for a handler that ignores its end, whichever instance its
// answer came to.
func TestCloseIsBoundedWithAMailbox(t *testing.T) {
	for name, at := range map[string]int{"at the holder": 0, "elsewhere": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := newSiblings(t, 2, func(*testing.T, *deeds) tripStyle {
					return mrtr.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
						ask(s, text("q"))
						<-release
						return tripOut{}, nil
					}))
				})
				asked := s.tools[0].begin()
				go s.tools[at].answer(asked, "x")
				time.Sleep(time.Second)
				began := time.Now()
				require.Error(t, s.runtimes[0].Close())
				require.LessOrEqual(t, time.Since(began), 30*time.Second)
				close(release)
				time.Sleep(time.Minute)
			})
		})
	}
}
