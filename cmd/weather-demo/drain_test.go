package main

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDrainGivesCallsTheirTime(t *testing.T) {
	tests := []struct {
		takes     time.Duration
		cancelled bool
	}{
		{time.Second, false},
		{time.Hour, true},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			h := httpServer{drainLimit: time.Minute, log: &serveLog{out: &log}}
			start := time.Now()
			err := h.drain(&http.Server{}, func(ctx context.Context) error {
				select {
				case <-time.After(tt.takes):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			require.NoError(t, err)
			require.Equal(t, min(tt.takes, time.Minute), time.Since(start))
			if tt.cancelled {
				require.Contains(t, log.String(), "running after 1m0s were cancelled")
			} else {
				require.Empty(t, log.String())
			}
		})
	}
}
