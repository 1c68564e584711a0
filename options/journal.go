package options

import "github.com/mrtr-go/sdk/mrtr"

// Journal is style J: the very function of style H, run again in each round
// with every answer and effect replayed from the sealed state. Choose it for
// linear code behind a load balancer: it holds nothing, and any instance can
// take the next round. It costs a run of the code above the question in each
// round, and that code must come to the same every time.
func Journal(rt *mrtr.Runtime, audit *Audit) Handler {
	return mrtr.Tool(rt, mrtr.Journal(linear(audit)), nil)
}
