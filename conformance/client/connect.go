package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// user answers a question; nil where nobody is to be asked.
type user func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// accepts is a user who agrees and fills in this content.
func accepts(content map[string]any) user {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	}
}

// connect opens a session with the suite's server.
func connect(ctx context.Context, at *setting, u user, oauth auth.OAuthHandler) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "mrtr-conformance", Version: "1.0.0"}, &mcp.ClientOptions{ElicitationHandler: u})
	transport := &mcp.StreamableClientTransport{Endpoint: at.URL, OAuthHandler: oauth}
	return client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: at.Version})
}

// connectOnly shows how the client introduces itself.
func connectOnly(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, nil, nil)
	if err != nil {
		return err
	}
	return session.Close()
}
