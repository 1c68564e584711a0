package mcphttp

// This file reads the calls that lean.go serves, and is deleted with it.

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// leanCall is a call that was read.
type leanCall struct {
	request   jsonrpc.Request
	id        []byte // as it was sent
	name      string // of what is called
	arguments []byte // notes about a tool's arguments, see readArguments
}

// readLean reads a POST that go-sdk's HTTP layer is certain to let through. It
// reports false for every other one.
func readLean(r *http.Request, raw []byte) (*leanCall, bool) {
	method, version, name := r.Header.Get(methodHeader), r.Header.Get(versionHeader), r.Header.Get(nameHeader)
	if method != "tools/call" && method != "prompts/get" && method != "resources/read" || name == "" {
		return nil, false
	}
	if r.Header.Get("Content-Type") != "application/json" || !acceptsBoth(r.Header.Values("Accept")) {
		return nil, false
	}
	for header := range r.Header {
		if strings.HasPrefix(header, paramPrefix) { // go-sdk knows what they must say
			return nil, false
		}
	}
	if _, limited := r.Context().Deadline(); limited { // no connection hands one to its handlers
		return nil, false
	}
	call := &leanCall{name: name}
	call.request.Method = method
	p := leanReader{b: raw}
	return call, call.readMessage(&p, version) && p.end()
}

func acceptsBoth(values []string) bool {
	var json, events bool
	for _, value := range values {
		for kind := range strings.SplitSeq(value, ",") {
			switch strings.TrimSpace(kind) {
			case "application/json":
				json = true
			case "text/event-stream":
				events = true
			case "*/*":
				json, events = true, true
			}
		}
	}
	return json && events
}

func (c *leanCall) readMessage(p *leanReader, version string) bool {
	var seen struct{ jsonrpc, id, method, params bool }
	ok := p.object(func(name []byte) bool {
		switch string(name) {
		case "jsonrpc":
			return once(&seen.jsonrpc) && p.is("2.0")
		case "id":
			return once(&seen.id) && c.readID(p)
		case "method":
			return once(&seen.method) && p.is(c.request.Method)
		case "params":
			start := p.next()
			ok := once(&seen.params) && c.readParams(p, version)
			c.request.Params = p.b[start:p.i:p.i]
			return ok
		}
		return false
	})
	return ok && seen.jsonrpc && seen.id && seen.method && seen.params
}

// once reports whether a member is the first of its name.
func once(seen *bool) bool {
	again := *seen
	*seen = true
	return !again
}

// maxIDDigits is how many digits a number may have that is read the same by all.
const maxIDDigits = 15

func (c *leanCall) readID(p *leanReader) (ok bool) {
	start := p.next()
	var id any
	if p.peek() == '"' {
		var s []byte
		s, ok = p.plain()
		id = string(s)
	} else {
		ok = p.number()
		n, err := strconv.ParseInt(string(p.b[start:p.i]), 10, 64)
		ok = ok && err == nil && p.i-start <= maxIDDigits && (n != 0 || p.b[start] == '0')
		id = float64(n)
	}
	c.id = p.b[start:p.i]
	if ok {
		c.request.ID, _ = jsonrpc.MakeID(id) // fails for other types alone
	}
	return ok
}

func (c *leanCall) readParams(p *leanReader, version string) bool {
	key := "name"
	if c.request.Method == "resources/read" {
		key = "uri"
	}
	var seen struct{ meta, name, arguments, responses, state bool }
	ok := p.object(func(name []byte) bool {
		switch string(name) {
		case "_meta":
			return once(&seen.meta) && readMeta(p, version)
		case key:
			return once(&seen.name) && p.is(c.name)
		case "inputResponses":
			return once(&seen.responses) && readResponses(p)
		case "requestState":
			return once(&seen.state) && p.text()
		case "arguments":
			switch {
			case !once(&seen.arguments):
				return false
			case c.request.Method == "prompts/get":
				return p.object(func([]byte) bool { return p.text() })
			case c.request.Method == "tools/call" && p.peek() == '{':
				return c.readArguments(p, 0, 0)
			}
			return p.value()
		}
		return p.value()
	})
	return ok && seen.meta && seen.name
}

func readMeta(p *leanReader, version string) bool {
	found := false
	ok := p.object(func(name []byte) bool {
		if string(name) == mcp.MetaKeyProtocolVersion {
			return once(&found) && p.is(version)
		}
		return p.value()
	})
	return ok && found
}

// readResponses reads the answers of a user. A client's model and its roots answer
// with more than is worth knowing here.
func readResponses(p *leanReader) bool {
	return p.object(func([]byte) bool {
		acted := false
		ok := p.object(func(name []byte) bool {
			switch string(name) {
			case "action":
				return once(&acted) && p.text()
			case "content", "_meta":
				return p.peek() == '{' && p.value()
			}
			return false
		})
		return ok && acted
	})
}

// maxNotes bounds the notes of readArguments, and with them its work.
const maxNotes = 4 << 10

// readArguments reads an object and notes the path of each member, at any depth that
// the properties of a schema can reach. A path is that of the object which the member
// is in (from start to end in the notes), a zero byte and the name. A newline ends it,
// with a byte before it that marks a null. No name has any of these bytes.
func (c *leanCall) readArguments(p *leanReader, start, end int) bool {
	return p.object(func(name []byte) bool {
		from := len(c.arguments)
		c.arguments = append(append(c.arguments, c.arguments[start:end]...), 0)
		c.arguments = append(c.arguments, name...)
		to := len(c.arguments)
		if p.peek() == 'n' {
			c.arguments = append(c.arguments, nullMark)
		}
		c.arguments = append(c.arguments, '\n')
		if len(c.arguments) > maxNotes {
			return false
		}
		if p.peek() == '{' {
			return c.readArguments(p, from, to)
		}
		return p.value()
	})
}

const nullMark = 1

// paths ranges over the notes of readArguments.
func (c *leanCall) paths(yield func(path []byte, null bool) bool) {
	for line := range bytes.Lines(c.arguments) {
		path, null := bytes.CutSuffix(line[:len(line)-1], []byte{nullMark})
		if !yield(path, null) {
			return
		}
	}
}
