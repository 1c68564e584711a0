package main

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// tool is the weather tool as linear code. Its effect can be looked up, so no
// instance that dies leaves anybody in doubt.
type tool struct {
	audit auditFile
	tell  func(did string)
}

func (t tool) weather(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
	which, err := options.WhichPlace(q.Location)
	if err != nil {
		return options.Report{}, err
	}
	place, err := mrtr.Ask(ctx, c, which)
	if err != nil {
		return options.Report{}, err
	}
	_, err = mrtr.OnceWith(ctx, c, "audit", &mrtr.OnceOptions[bool]{Check: t.wasWritten}, func(_ context.Context, idem string) (bool, error) {
		if err := t.audit.record(idem, place); err != nil {
			return false, err
		}
		t.tell(wroteAudit)
		return true, nil
	})
	if err != nil {
		return options.Report{}, err
	}
	units, err := mrtr.Ask(ctx, c, options.Units)
	if err != nil {
		return options.Report{}, err
	}
	return options.NewReport(place, units), nil
}

// wasWritten is asked when an earlier attempt was cut off.
func (t tool) wasWritten(ctx context.Context, idem string) (written, happened bool, err error) {
	happened, err = t.audit.find(ctx, idem)
	if err == nil && happened {
		t.tell("looks for the audit line: it is there, so it writes none")
	} else if err == nil {
		t.tell("looks for the audit line: it is not there")
	}
	return happened, happened, err
}

// wroteAudit is told by an instance when its effect has happened.
const wroteAudit = "writes the audit line"
