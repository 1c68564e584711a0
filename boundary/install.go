package boundary

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Install puts the boundary around every tool of the server, those registered
// already and those added later. It is to be called after the server's other
// middleware was added: what is added later runs outside it.
//
// Installing twice is harmless: the outermost boundary does the work and those
// inside it step aside. An error means that the options are invalid or the
// server is nil; nothing was installed then.
func Install(server *mcp.Server, opts *Options) error {
	if server == nil {
		return errors.New("boundary: Install on a nil server")
	}
	receive, err := Middleware(opts)
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(receive)
	server.AddSendingMiddleware(noticeAsking)
	return nil
}
