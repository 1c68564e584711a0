package wstransport

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/inflight"
)

// opening bounds the initialize messages of a legacy client, which go-sdk keeps until
// the session ends. They are read in turn.
type opening struct {
	most int64
	all  *inflight.Counter // bytes of all connections; nil where there is one alone
	kept int
}

// note returns an error when a request is an initialize that is too large to keep.
func (o *opening) note(req *jsonrpc.Request) *jsonrpc.Error {
	if req.Method != "initialize" {
		return nil
	}
	if int64(len(req.Params)) > o.most {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("initialize exceeds %d bytes", o.most)}
	}
	// A second one takes the place of the first, but may come before that is known.
	if o.all != nil {
		if err := o.all.Enter("", len(req.Params)); err != nil {
			return &jsonrpc.Error{Code: inflight.CodeBusy, Message: err.Error()}
		}
	}
	o.kept += len(req.Params)
	return nil
}

// over gives back the bytes of the connection.
func (o *opening) over() {
	if o.all != nil {
		o.all.Leave("", o.kept)
	}
}
