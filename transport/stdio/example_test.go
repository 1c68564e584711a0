package stdio_test

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/stdio"
)

// A line that is no message is answered, and the server stays.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	input := "hello?\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	answered := &terminal{}
	answered.lines.Add(2)
	transport, err := stdio.New(&stdio.Options{ // nil for the standard input and output
		Reader: io.NopCloser(io.MultiReader(strings.NewReader(input), answered)),
		Writer: answered,
	})
	if err != nil {
		panic(err)
	}
	_ = server.Run(context.Background(), transport) // the input has an end
	// Output:
	// {"jsonrpc":"2.0","error":{"code":-32700,"message":"a line is not JSON"}}
	// {"jsonrpc":"2.0","id":1,"result":{}}
}

// terminal shows the output, and ends the input after a number of lines.
type terminal struct{ lines sync.WaitGroup }

func (t *terminal) Write(p []byte) (int, error) {
	defer t.lines.Done()
	return os.Stdout.Write(p)
}

func (t *terminal) Read([]byte) (int, error) {
	t.lines.Wait()
	return 0, io.EOF
}

func (*terminal) Close() error { return nil }
