package options

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// WorkItem is the input of [MultiRound].
type WorkItem struct {
	ID int `json:"work_item_id" jsonschema:"the number of the work item"`
}

// Resolution is the output of [MultiRound].
type Resolution struct {
	ID          int    `json:"work_item_id"`
	Resolution  string `json:"resolution"`
	DuplicateOf int    `json:"duplicate_of,omitempty"`
}

// Text is the resolution as a sentence.
func (r Resolution) Text() string {
	if r.DuplicateOf != 0 {
		return fmt.Sprintf("#%d resolved as %s of #%d.", r.ID, r.Resolution, r.DuplicateOf)
	}
	return fmt.Sprintf("#%d resolved as %s.", r.ID, r.Resolution)
}

// MultiRound resolves a work item: the smallest handler whose second question
// depends on the first answer. The client sends that answer once, in the next
// request; later rounds have it because it travels in the sealed state.
func MultiRound(rt *mrtr.Runtime) mcp.ToolHandlerFor[WorkItem, Resolution] {
	return mrtr.Tool(rt, mrtr.Native(resolve), nil)
}

func resolve(ctx context.Context, c *mrtr.Call, item WorkItem) (*mrtr.IncompleteResult, Resolution, error) {
	resolution, ok := mrtr.Answer(c, howResolved)
	if !ok {
		return mrtr.Need(howResolved), Resolution{}, nil
	}
	if resolution != "Duplicate" {
		return nil, Resolution{ID: item.ID, Resolution: resolution}, nil
	}
	original, ok := mrtr.Answer(c, duplicateOf)
	if !ok {
		return mrtr.Need(duplicateOf), Resolution{}, nil
	}
	return nil, Resolution{ID: item.ID, Resolution: resolution, DuplicateOf: original}, nil
}

var (
	howResolved = mrtr.Choose("resolution", "How is it resolved?", mrtr.Choices("Fixed", "Duplicate", "Won't Fix")...)
	duplicateOf = mrtr.Elicit[int]("duplicate_of", "Which work item does it duplicate?")
)
