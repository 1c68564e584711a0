package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

type readIn struct {
	Path string `json:"path"`
}

// readBefore returns an object that describes the error. To the protocol and to
// its client that call has succeeded.
func readBefore(_ context.Context, _ *mcp.CallToolRequest, in readIn) (*mcp.CallToolResult, map[string]any, error) {
	text, err := os.ReadFile(filepath.Join("testdata", in.Path))
	if err != nil {
		return nil, map[string]any{"error": "read_failed", "message": err.Error()}, nil
	}
	return nil, map[string]any{"text": string(text)}, nil
}

type readOut struct {
	Text string `json:"text"`
}

// readAfter returns an error. Its type has no fields for errors any more, and its
// schema says so.
func readAfter(_ context.Context, _ *mcp.CallToolRequest, in readIn) (*mcp.CallToolResult, readOut, error) {
	text, err := os.ReadFile(filepath.Join("testdata", in.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, readOut{}, &boundary.Selector{Kind: boundary.NotFound, Selector: "path", Tool: "list"}
	case err != nil:
		return nil, readOut{}, &boundary.Execution{Operation: "read", Err: err} // err is for the log
	}
	return nil, readOut{string(text)}, nil
}

// A tool that returned error objects, and the same tool with errors.
func Example_migrate() {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "before"}, readBefore)
	mcp.AddTool(server, &mcp.Tool{Name: "after"}, readAfter)
	if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"before", "after"} {
		res := exampleCall(context.Background(), server, tool, readIn{"none.txt"})
		report, _ := boundary.ReportOf(res)
		fmt.Printf("%s: isError %t, type %q\n", tool, res.IsError, report.Type)
		for _, block := range res.Content {
			fmt.Println(" ", block.(*mcp.TextContent).Text)
		}
	}
	// Output:
	// before: isError false, type ""
	//   {"error":"read_failed","message":"open testdata/none.txt: no such file or directory"}
	// after: isError true, type "not_found"
	//   "path" was not found.
	//   Call "list" for the valid values of "path".
}
