//go:build !unix

package meter

import "time"

func processorTime() time.Duration { return 0 }
