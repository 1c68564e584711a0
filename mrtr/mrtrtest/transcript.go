package mrtrtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Transcript is the call as a txtar archive: one section for each message, in
// order, and one without a body for each effect where it happened. Two equal calls
// have the same transcript, whether one instance served them or many: ids and
// states are masked, and the members of objects are sorted.
func (o *Outcome) Transcript() string {
	var b strings.Builder
	settled, effects := 0, o.effects
	happened := func() {
		for ; len(effects) > 0 && effects[0].message <= settled; effects = effects[1:] {
			fmt.Fprintf(&b, "-- effect %s --\n", effects[0])
		}
	}
	happened()
	for _, message := range o.Messages {
		sender, text, _ := strings.Cut(message, ": ")
		fmt.Fprintf(&b, "-- %s --\n", strings.TrimSpace(sender+" "+subject(text)))
		b.WriteString(indented(text))
		if isSettled([]byte(text)) {
			settled++
			happened()
		}
	}
	return b.String()
}

// subject says in a word what kind of message it is.
func subject(message string) string {
	var m struct {
		Method string          `json:"method"`
		Error  json.RawMessage `json:"error"`
		Result struct {
			ResultType    string          `json:"resultType"`
			InputRequests json.RawMessage `json:"inputRequests"`
		} `json:"result"`
	}
	_ = json.Unmarshal([]byte(message), &m) // the client encoded it
	switch {
	case m.Method != "":
		return m.Method
	case m.Error != nil:
		return "error"
	case m.Result.InputRequests != nil || m.Result.ResultType == "input_required":
		return "asks"
	}
	return "result"
}

// indented formats a message for readers of differences, its members sorted.
func indented(message string) string {
	decoder := json.NewDecoder(strings.NewReader(message))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return message + "\n"
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return message + "\n"
	}
	return b.String()
}

func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write the files of mrtrtest.Golden anew")
	}
}

// Golden fails the test unless the file holds this text. With -update it writes
// the file instead:
//
//	go test -run TestBook -update
//
// The flag is defined by this package. A test package that wants it for files of
// its own looks it up, with flag.Lookup("update"), and does not define it again.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: write it with go test -run '^%s$' -update", err, t.Name())
	}
	// git may have checked the file out with the line endings of its system.
	want := strings.ReplaceAll(string(text), "\r\n", "\n")
	if line, w, g := firstDifference(want, got); line > 0 {
		t.Errorf("%s:%d differs; go test -update writes it anew\n  want: %s\n  got:  %s", file, line, w, g)
	}
}

// firstDifference is the first line in which two texts differ, 0 if none does.
func firstDifference(want, got string) (line int, w, g string) {
	if want == got {
		return 0, "", ""
	}
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wants), len(gots)) {
		if wants[i] != gots[i] {
			return i + 1, wants[i], gots[i]
		}
	}
	if len(wants) < len(gots) {
		return len(wants) + 1, "(the end)", gots[len(wants)]
	}
	return len(gots) + 1, wants[len(gots)], "(the end)"
}

// masked replaces the two parts in which the messages of equal calls may
// differ:
//
//   - the id, which numbers the messages of one connection: a call over several
//     instances has several connections;
//   - requestState, which the protocol makes opaque to clients: it is sealed
//     with a nonce and holds times.
//
// Their presence stays visible, and everything else is kept as it was sent.
func masked(raw json.RawMessage) (string, error) {
	var message map[string]json.RawMessage
	if err := json.Unmarshal(raw, &message); err != nil {
		return "", err
	}
	if message["id"] != nil {
		message["id"] = mask
	}
	for _, part := range []string{"params", "result"} {
		var fields map[string]json.RawMessage
		if json.Unmarshal(message[part], &fields) != nil {
			continue
		}
		differs := false
		for _, name := range differing {
			if fields[name] != nil {
				fields[name], differs = mask, true
			}
		}
		if !differs {
			continue
		}
		whole, err := json.Marshal(fields)
		if err != nil {
			return "", err
		}
		message[part] = whole
	}
	text, err := json.Marshal(message)
	return string(text), err
}

var mask = json.RawMessage(`"*"`)

// differing are the members of params and results in which equal calls differ.
var differing = []string{"requestState", "taskId", "createdAt", "lastUpdatedAt"}

// settled counts the messages that are no notifications. A server acts on the
// request, or on the answer, that it had last, so their number says how far a call
// has come. A notification may still be on its way to the client.
func settled(messages []wire.Message) int {
	n := 0
	for _, m := range messages {
		if isSettled(m.JSON) {
			n++
		}
	}
	return n
}

func isSettled(message []byte) bool {
	var fields struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(message, &fields) // the client encoded it
	return fields.ID != nil
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
