package main

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

var clientRoots = mrtr.Roots("client_roots")

// roots asks where the client's files are.
func roots(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, clientRoots)
	if !ok {
		return mrtr.Need(clientRoots), said{}, nil
	}
	return nil, said{"The client's roots: " + addresses(answer) + "."}, nil
}

func addresses(answer *mcp.ListRootsResult) string {
	var uris []string
	for _, root := range answer.Roots {
		uris = append(uris, root.URI)
	}
	return strings.Join(uris, ", ")
}
