package mrtrtest

import "strings"

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
