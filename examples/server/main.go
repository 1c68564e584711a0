// Command server is a whole server, to copy. It imports nothing that your module cannot.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/store"
)

func main() {
	if err := run(context.Background(), "127.0.0.1:8080"); err != nil { // until SIGTERM
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
	if err != nil {
		return err
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "book"}, mrtr.Native(book))
	return serve.HTTP(ctx, address, server, &serve.Options{Runtime: rt})
}
