package message

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Rejected is the error of a message that a connection does not send, by which go-sdk knows
// that the connection itself is sound.
var Rejected = &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}

// ErrUnpingable is the error of a ping for a client without a session, as those of the
// modern revision are: it has no requests of servers. With it a session lives on under
// mcp.ServerOptions.KeepAlive, which would close it, with the answers of its calls.
var ErrUnpingable = Unpinged(fmt.Errorf("%w: a client without a session is not pinged", Rejected))

// Unpinged is the error of a ping, and if it could not be sent, one that ends go-sdk's
// pings and not its session: nothing was learned about the client.
func Unpinged(err error) error {
	if errors.Is(err, Rejected) {
		return fmt.Errorf("%w: %w", err, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "ping"})
	}
	return err
}

// IsPing reports whether a message is a ping that wants an answer.
func IsPing(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	return ok && req.IsCall() && req.Method == "ping"
}
