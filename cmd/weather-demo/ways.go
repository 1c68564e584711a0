package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

const waysAbout = `Calls one tool in the three ways in which a handler can be asked, and prints the
messages of each: round trips, the session of a legacy client, and a task. The
handler is the same, and does not know. Polls that find the task at work are
left out.`

// way is one of the ways in which a handler is asked.
type way struct {
	title  string
	client *wire.Options
}

var waysToAsk = []way{
	{"Round trips: the client calls again with the answer.", &wire.Options{}},
	{"A legacy session: the client is asked while its call is open.", &wire.Options{Version: wire.Legacy}},
	{"A task: the client polls, and answers where the task asks.", &wire.Options{TakesTasks: true}},
}

// ways calls the steps of the weather tool in each way.
func ways(ctx context.Context, p printer) error {
	steps, err := findStyle("steps")
	if err != nil {
		return err
	}
	var first *wire.Outcome
	for _, w := range waysToAsk {
		out, audited, messages, err := w.play(ctx, steps)
		if err != nil {
			return err
		}
		fmt.Fprintln(p, p.bold(w.title))
		for _, line := range exchanged(messages) {
			p.hang("  "+line.lane+" ", line.text, plain)
		}
		fmt.Fprintln(p)
		if first == nil {
			first = out
		}
		if out.Text != first.Text || !slices.Equal(messagesOf(out.Questions), messagesOf(first.Questions)) || audited != 1 {
			return errors.New("the ways differ")
		}
	}
	p.hang("", "Asked alike in each way, the same result, and one line in the audit log.", p.dim)
	return nil
}

func messagesOf(questions []wire.Question) (messages []string) {
	for _, q := range questions {
		messages = append(messages, q.Message)
	}
	return messages
}

// play makes the call on a server of its own.
func (w way) play(ctx context.Context, style options.Option) (out *wire.Outcome, audited int, messages []wire.Message, err error) {
	stop := func() error { return nil }
	c, err := connect(ctx, nil, w.client, func(rt *mrtr.Runtime, server *mcp.Server) error {
		mrtr.AddTool(server, weather.Tool(style), style.New(rt, &options.Audit{Out: func(string) { audited++ }}))
		m, err := serveTasks(server, rt)
		if err == nil {
			stop = m.Close
		}
		return err
	}, nil)
	if err != nil {
		return nil, 0, nil, err
	}
	defer c.close()
	out, err = c.Call(ctx, weather.Tool(style).Name, map[string]any{"location": "Springfield"}, firstChoices)
	if err == nil {
		messages = wire.WithoutPolls(c.Messages())
	}
	return out, audited, messages, errors.Join(err, stop())
}

// exchange is a message, in short, and who sent it.
type exchange struct{ lane, text string }

// exchanged are the messages of a call, in short.
func exchanged(messages []wire.Message) (lines []exchange) {
	for _, m := range messages {
		text := inShort(m)
		if text == "" {
			continue
		}
		lane := "client ◀──"
		if m.Sent {
			lane = "client ──▶"
		}
		lines = append(lines, exchange{lane, text})
	}
	return lines
}

// inShort is a message in a few words, "" for those of the handshake.
func inShort(m wire.Message) string {
	var all struct {
		Method string `json:"method"`
		Params struct {
			Message        string                     `json:"message"`
			Name           string                     `json:"name"`
			InputResponses map[string]json.RawMessage `json:"inputResponses"`
		} `json:"params"`
		Result *struct {
			ResultType    string          `json:"resultType"`
			Status        string          `json:"status"`
			Action        string          `json:"action"`
			Content       json.RawMessage `json:"content"`
			InputRequests map[string]struct {
				Params struct {
					Message string `json:"message"`
				} `json:"params"`
			} `json:"inputRequests"`
			Result *struct {
				Content json.RawMessage `json:"content"`
			} `json:"result"`
		} `json:"result"`
	}
	if json.Unmarshal(m.JSON, &all) != nil {
		return ""
	}
	switch r := all.Result; {
	case all.Method == "elicitation/create":
		return fmt.Sprintf("elicitation/create: %q", all.Params.Message)
	case all.Method == "tools/call" || strings.HasPrefix(all.Method, "tasks/"):
		text := strings.TrimSpace(all.Method + " " + all.Params.Name)
		for _, key := range sortedKeys(all.Params.InputResponses) {
			text += ", with the answer " + key
		}
		return text
	case r == nil:
		return ""
	case r.Action != "":
		return r.Action + " " + string(r.Content)
	case r.Result != nil:
		return r.Status + ": " + textIn(r.Result.Content)
	case len(r.InputRequests) > 0:
		var asked []string
		for _, key := range sortedKeys(r.InputRequests) {
			asked = append(asked, fmt.Sprintf("%s %q", key, r.InputRequests[key].Params.Message))
		}
		return strings.TrimSpace(r.Status + " asks " + strings.Join(asked, ", "))
	case r.ResultType == "task":
		return "a task, " + r.Status
	case r.Content != nil:
		return "result: " + textIn(r.Content)
	case r.ResultType == "complete":
		return "taken"
	}
	return ""
}

// textIn is the text of a result's content.
func textIn(content json.RawMessage) string {
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil || len(blocks) == 0 {
		return ""
	}
	return blocks[0].Text
}
