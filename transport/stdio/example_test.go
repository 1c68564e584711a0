package stdio_test

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/stdio"
)

// A line that is no message is answered, and the server stays.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	in, keyboard := io.Pipe()
	screen, out := io.Pipe()
	transport, err := stdio.New(&stdio.Options{Reader: in, Writer: out}) // nil for the standard input and output
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Run(context.Background(), transport) }() // until the input ends
	defer keyboard.Close()
	for _, line := range []string{"hello?", `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		fmt.Fprintln(keyboard, line)
		answer := make([]byte, 1000)
		n, _ := screen.Read(answer)
		fmt.Printf("%s", answer[:n])
	}
	// Output:
	// {"jsonrpc":"2.0","error":{"code":-32700,"message":"a line is not JSON"}}
	// {"jsonrpc":"2.0","id":1,"result":{}}
}
