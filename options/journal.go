package options

import (
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Journal is style J: the function of style H, run again from the top in each
// round, with every answer and effect replayed from the sealed state. Choose it
// for linear code behind a load balancer: the server holds nothing, and any
// instance can take the next round. It costs a run of the code above the
// question in each round, and that code must be deterministic.
func Journal(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, linear.Journal(reading(audit)), &mrtr.HandlerOptions{Needs: Always})
}
