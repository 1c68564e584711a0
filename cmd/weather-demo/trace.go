package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mrtr-go/sdk/mrtr"
)

// trace prints every frame of the selected calls. The states are made legible
// for it, which changes nothing but that.
func (s selection) trace(ctx context.Context, w io.Writer) error {
	p := painterFor(w)
	return s.each(ctx, func(r *recorded) error {
		fmt.Fprintf(w, "%s\n\n", p.bold(r.title()))
		for _, m := range r.moments {
			switch {
			case m.toServer != nil:
				writeFrame(w, p.bold("client ──▶ server"), m.toServer)
			case m.toClient != nil:
				writeFrame(w, p.bold("client ◀── server"), m.toClient)
			case m.audited != "":
				fmt.Fprintf(w, "%s\n\n", p.effect("audit: "+m.audited))
			case m.event.Kind == mrtr.HandlerEntered:
				fmt.Fprintf(w, "%s\n\n", p.dim("handler entered "+m.event.Handler))
			}
		}
		return nil
	})
}

func writeFrame(w io.Writer, head string, frame json.RawMessage) {
	var pretty bytes.Buffer
	if json.Indent(&pretty, frame, "  ", "  ") != nil {
		return
	}
	fmt.Fprintf(w, "%s\n  %s\n\n", head, pretty.Bytes())
}
