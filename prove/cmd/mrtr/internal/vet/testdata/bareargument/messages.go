// Package bareargument has arguments of a tool in messages, bare and quoted.
package bareargument

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

type size string

type in struct {
	Path   string
	Unit   string
	Flag   bool
	Count  int
	Size   size
	Tags   []string
	Inner  struct{ Name string }
	Known  string
	Listed string
	Found  string
	Empty  string
	Later  string
	Other  string
}

type out struct{}

var known = map[string]bool{"a": true}

func find(string) (int, error) { return 0, nil }

func send(string) error { return nil }

func bare(ctx context.Context, c *mrtr.Call, in in) (out, error) {
	mrtr.Confirm("a", "Delete "+in.Path+"?")                             // want `Path, an argument of the tool, is in the question's message`
	mrtr.Choose("b", fmt.Sprintf("Which of %d %s?", in.Count, in.Path))  // want `mrtr.Quote`
	mrtr.Elicit[string]("c", fmt.Sprint("To ", in.Inner.Name))           // want `Inner`
	mrtr.ElicitURL("d", strings.ToUpper(in.Path), "https://example.org") // want `Path`
	mrtr.ChooseSome("e", "Of "+strings.Join(in.Tags, ", "))              // want `Tags`
	message := "Sure?"
	if in.Flag {
		message = "Delete " + in.Path + "?"
	}
	mrtr.Confirm("f", message) // want `Path`
	for _, tag := range in.Tags {
		mrtr.Confirm("g", tag+"?") // want `Tags`
	}
	func() { mrtr.Confirm("h", in.Path) }() // want `Path`
	mrtr.Confirm("i", about(in))            // want `Other`
	helper(in.Path)
	if in.Empty == "" {
		mrtr.Confirm("j", "No "+in.Empty) // want `Empty`
	}
	mrtr.Confirm("k", "Send to "+in.Later) // want `Later`
	return out{}, send(in.Later)
}

func about(i in) string { return "About " + i.Other }

func helper(path string) {
	mrtr.Confirm("l", "Delete "+path+"?") // want `Path`
}

func quoted(ctx context.Context, c *mrtr.Call, in in) (out, error) {
	mrtr.Confirm("a", "Delete "+mrtr.Quote(in.Path)+"?")
	mrtr.Confirm("b", fmt.Sprintf("%d of %q, 100%% %t?", in.Count, in.Path, in.Flag))
	mrtr.Confirm("c", "Size "+string(in.Size))
	mrtr.Confirm("d", "A constant")
	mrtr.Confirm(in.Path, "A key")
	mrtr.Choose("e", "Which?", mrtr.Choices(in.Tags...)...)
	switch in.Unit {
	case "metric", "imperial":
		mrtr.Confirm("f", "In "+in.Unit)
	}
	if known[in.Known] {
		mrtr.Confirm("g", in.Known)
	}
	if !slices.Contains([]string{"x"}, in.Listed) {
		return out{}, errors.New("unknown")
	}
	mrtr.Confirm("h", in.Listed)
	if _, err := find(in.Found); err != nil {
		return out{}, err
	}
	mrtr.Confirm("i", in.Found)
	return out{}, nil
}

func typed(ctx context.Context, req *mcp.CallToolRequest, in in) (*mcp.CallToolResult, out, error) {
	mrtr.Confirm("a", in.Path) // want `Path`
	return nil, out{}, nil
}

func notAHandler(ctx context.Context, in in) { mrtr.Confirm("a", in.Path) }

var answered = given.Question("a", func(_ context.Context, in in) (mrtr.Question[bool], error) {
	return mrtr.Confirm("a", in.Path), nil // want `Path`
})

func stepwise() {
	var b steps.List[in, out]
	steps.Ask(&b, "a", func(_ context.Context, at *steps.At[in]) (mrtr.Question[bool], error) {
		return mrtr.Confirm("a", "Delete "+at.In.Path), nil // want `Path`
	})
}

var (
	_ = linear.Journal(bare)
	_ = linear.Journal(quoted)
	_ = answered
	_ = stepwise
	_ = notAHandler
	_ = typed
)
