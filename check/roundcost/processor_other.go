//go:build !unix

package roundcost

import "time"

func processorTime() time.Duration { return 0 }
