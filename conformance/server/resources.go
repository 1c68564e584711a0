package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addResources(s *mcp.Server) {
	text := mcp.ResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."}
	binary := mcp.ResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel}
	watched := mcp.ResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "This is the content of the watched resource."}
	for name, contents := range map[string]mcp.ResourceContents{"static-text": text, "static-binary": binary, "watched": watched} {
		s.AddResource(&mcp.Resource{
			Name: name, URI: contents.URI, MIMEType: contents.MIMEType, Description: "A resource that stays the same.",
		}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			own := contents
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&own}}, nil
		})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json", Description: "Data by its id.",
	}, readTemplate)
}

type datum struct {
	ID           string `json:"id"`
	TemplateTest bool   `json:"templateTest"`
	Data         string `json:"data"`
}

func readTemplate(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
	text, err := json.Marshal(datum{ID: id, TemplateTest: true, Data: "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}
