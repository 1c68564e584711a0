package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

// line is one line of the input, without its end.
type line struct {
	text   []byte
	length int // of it all, also if text was dropped
	err    error
}

var errTooLong = errors.New("the line is too long")

// readLines reads the input until its end. It is a goroutine of its own because a read
// of the standard input cannot be interrupted.
func (c *conn) readLines() {
	in := bufio.NewReaderSize(c.options.Reader, 64<<10)
	for {
		l := readLine(in, c.options.MaxMessageBytes)
		if len(bytes.TrimSpace(l.text)) == 0 && l.err == nil {
			continue
		}
		select {
		case c.incoming <- l:
		case <-c.closed:
			return
		}
		if l.err != nil && !errors.Is(l.err, errTooLong) {
			return
		}
	}
}

// readLine reads to the end of a line and keeps up to limit bytes of it.
func readLine(in *bufio.Reader, limit int) line {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		part, ended := bytes.CutSuffix(part, []byte("\n"))
		l.length += len(part)
		if l.length <= limit {
			l.text = append(l.text, part...)
		} else {
			l.text = nil
		}
		switch {
		case ended && l.length > limit:
			l.err = errTooLong
			return l
		case ended:
			return l
		case err == io.EOF && len(bytes.TrimSpace(l.text)) > 0:
			return l // the next read ends it
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			l.err = err
			return l
		}
	}
}

var errNotJSON = &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "a line is not JSON"}

// readMessage returns the message of a line, or why it is none.
func readMessage(l line, limit int) (jsonrpc.Message, *jsonrpc.Error) {
	switch {
	case l.err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("a message may have %d bytes", limit)}
	case !utf8.Valid(l.text):
		return nil, errNotJSON
	}
	msg, err := message.Decode(l.text)
	switch {
	case errors.Is(err, message.ErrNotJSON):
		return nil, errNotJSON
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a line is not one JSON-RPC message"}
	}
	return msg, nil
}
