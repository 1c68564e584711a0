package mrtrtest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

// withoutPolls leaves out the polls that found the task working: how many there are is a
// matter of time.
func withoutPolls(messages []wire.Message) []wire.Message {
	read := func(m wire.Message) (id, status string) {
		var fields struct {
			ID     json.RawMessage `json:"id"`
			Result struct {
				Status string `json:"status"`
			} `json:"result"`
		}
		_ = json.Unmarshal(m.JSON, &fields) // the client encoded it
		return string(fields.ID), fields.Result.Status
	}
	polls, inVain := map[string]bool{}, map[string]bool{} // by id
	for _, m := range messages {
		id, status := read(m)
		if m.Sent && m.Method == "tasks/get" {
			polls[id] = true
		}
		if !m.Sent && polls[id] && status == "working" {
			inVain[id] = true
		}
	}
	return slices.DeleteFunc(messages, func(m wire.Message) bool {
		id, _ := read(m)
		return inVain[id]
	})
}

// placeEffects puts the effects of a task behind the response to the request that set the
// task to work. The handler runs on its own then, so that an effect may as well come before
// the response.
func (o *Outcome) placeEffects() {
	var after []int // by request, how many messages were settled; 0 if it set no task to work
	settled, asked := 0, ""
	for _, message := range o.Messages {
		sender, text, _ := strings.Cut(message, ": ")
		if !isSettled([]byte(text)) {
			continue
		}
		settled++
		switch {
		case sender == "client":
			asked = subject(text)
		case asked == "tasks/update", asked == "tools/call" && strings.Contains(text, `"resultType":"task"`):
			after = append(after, settled)
		case asked == "tools/call":
			after = append(after, 0)
		}
	}
	for i, e := range o.effects {
		if e.request > 0 && e.request <= len(after) && after[e.request-1] > 0 {
			o.effects[i].message = after[e.request-1]
		}
	}
}
