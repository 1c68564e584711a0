package mcphttp

import (
	"bytes"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// undecodable begins the message with which go-sdk refuses params that it cannot
// decode, when it looks in them for the name that the header must repeat.
const undecodable = "failed to extract name from parameters"

// A paramsWriter replaces that refusal. Its code says that the headers are wrong,
// so the client would mend the headers, which are right; the code for params is -32602, which go-sdk
// itself gives over any other transport.
type paramsWriter struct {
	http.ResponseWriter
	refused bool
}

// Unwrap leads [http.ResponseController] to the writer that flushes.
func (w *paramsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *paramsWriter) WriteHeader(status int) {
	w.refused = status == http.StatusBadRequest
	w.ResponseWriter.WriteHeader(status)
}

func (w *paramsWriter) Write(p []byte) (int, error) {
	if w.refused && bytes.Contains(p, []byte(undecodable)) {
		if mended := mendRefusal(p); mended != nil {
			_, err := w.ResponseWriter.Write(mended)
			return len(p), err
		}
	}
	return w.ResponseWriter.Write(p)
}

// mendRefusal is nil where the body is another one: a client chooses some of the
// text of an error.
func mendRefusal(body []byte) []byte {
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil
	}
	res, ok := message.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	refusal, ok := res.Error.(*jsonrpc.Error)
	if !ok || refusal.Code != mcp.CodeHeaderMismatch || !bytes.HasPrefix([]byte(refusal.Message), []byte(undecodable)) {
		return nil
	}
	res.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: they do not decode"}
	mended, err := jsonrpc.EncodeMessage(res)
	if err != nil {
		return nil
	}
	return mended
}
