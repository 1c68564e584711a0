package mcphttp

// This file reads the calls that lean.go serves, and is deleted with it.

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/segmentio/encoding/json"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// leanCall is a call that was read.
type leanCall struct {
	method    string
	id        jsonrpc.ID
	rawID     []byte // as it was sent
	name      string // of the tool or prompt, or the URI of the resource
	arguments []byte // notes about a tool's arguments, see readArguments

	version string

	rawParams, rawInfo, rawCapabilities []byte // the latter two of _meta

	// After decode.
	params mcp.Params
	client *mcp.InitializeParams // as the _meta of the params describes the client
}

// readLean reads a POST that go-sdk is certain to hand to the middleware, where its
// params decode. It reports false for every other one.
func readLean(r *http.Request, raw []byte) (*leanCall, bool) {
	method, version, name := r.Header.Get(methodHeader), r.Header.Get(versionHeader), r.Header.Get(nameHeader)
	if method != "tools/call" && method != "prompts/get" && method != "resources/read" || name == "" {
		return nil, false
	}
	if r.Header.Get("Content-Type") != "application/json" || !acceptsBoth(r.Header.Values("Accept")) {
		return nil, false
	}
	for header := range r.Header {
		if strings.HasPrefix(header, paramPrefix) { // go-sdk compares them with the arguments
			return nil, false
		}
	}
	if _, limited := r.Context().Deadline(); limited { // no session hands one to its handlers
		return nil, false
	}
	call := &leanCall{method: method, name: name, version: version}
	s := jsontext.Scan(raw)
	return call, call.readMessage(s) && s.End()
}

// decode decodes the params and describes the client. It uses go-sdk's decoder with
// go-sdk's setting, so that both find the same in the same bytes.
func (c *leanCall) decode() bool {
	switch c.method {
	case "tools/call":
		c.params = &mcp.CallToolParamsRaw{}
	case "prompts/get":
		c.params = &mcp.GetPromptParams{}
	default:
		c.params = &mcp.ReadResourceParams{}
	}
	_, err := json.Parse(c.rawParams, c.params, json.DontMatchCaseInsensitiveStructFields)
	return err == nil && c.describeClient()
}

// describeClient makes the params of an initialize out of _meta, as go-sdk's session does.
func (c *leanCall) describeClient() bool {
	c.client = &mcp.InitializeParams{ProtocolVersion: c.version}
	if c.rawInfo != nil {
		c.client.ClientInfo = &mcp.Implementation{}
		if _, err := json.Parse(c.rawInfo, c.client.ClientInfo, json.DontMatchCaseInsensitiveStructFields); err != nil {
			return false
		}
	}
	var declared struct {
		mcp.ClientCapabilities
		Roots *mcp.RootCapabilities `json:"roots,omitempty"`
	}
	if _, err := json.Parse(c.rawCapabilities, &declared, json.DontMatchCaseInsensitiveStructFields); err != nil {
		return false
	}
	if declared.RootsV2 = declared.Roots; declared.Roots != nil {
		declared.ClientCapabilities.Roots = *declared.Roots //nolint:staticcheck // go-sdk sets it too
	}
	c.client.Capabilities = &declared.ClientCapabilities
	return true
}

// request is the call as middleware gets it.
func (c *leanCall) request(session *mcp.ServerSession, extra *mcp.RequestExtra) mcp.Request {
	switch params := c.params.(type) {
	case *mcp.CallToolParamsRaw:
		return &mcp.CallToolRequest{Session: session, Params: params, Extra: extra}
	case *mcp.GetPromptParams:
		return &mcp.GetPromptRequest{Session: session, Params: params, Extra: extra}
	default:
		return &mcp.ReadResourceRequest{Session: session, Params: params.(*mcp.ReadResourceParams), Extra: extra}
	}
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

func (c *leanCall) readMessage(s *jsontext.Scanner) bool {
	var seen struct{ jsonrpc, id, method, params bool }
	ok := s.Object(func(name []byte) bool {
		switch string(name) {
		case "jsonrpc":
			return once(&seen.jsonrpc) && s.Is("2.0")
		case "id":
			return once(&seen.id) && c.readID(s)
		case "method":
			return once(&seen.method) && s.Is(c.method)
		case "params":
			var ok bool
			c.rawParams, ok = s.Raw(func() bool { return c.readParams(s) })
			return once(&seen.params) && ok
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

func (c *leanCall) readID(s *jsontext.Scanner) (ok bool) {
	var id any
	if s.Peek() == '"' {
		c.rawID, ok = s.Raw(func() bool {
			text, ok := s.Plain()
			id = string(text)
			return ok
		})
	} else {
		c.rawID, ok = s.Raw(s.Number)
		n, err := strconv.ParseInt(string(c.rawID), 10, 64)
		id = float64(n)
		ok = ok && err == nil && len(c.rawID) <= maxIDDigits && string(c.rawID) != "-0"
	}
	if ok {
		c.id, _ = jsonrpc.MakeID(id) // fails for other types alone
	}
	return ok
}

func (c *leanCall) readParams(s *jsontext.Scanner) bool {
	key := "name"
	if c.method == "resources/read" {
		key = "uri"
	}
	var seen struct{ meta, name, arguments, responses, state bool }
	ok := s.Object(func(name []byte) bool {
		switch string(name) {
		case "_meta":
			return once(&seen.meta) && c.readMeta(s)
		case key:
			return once(&seen.name) && s.Is(c.name)
		case "inputResponses":
			return once(&seen.responses) && readResponses(s)
		case "requestState":
			return once(&seen.state) && s.Text()
		case "arguments":
			switch {
			case !once(&seen.arguments):
				return false
			case c.method == "prompts/get":
				return s.Object(func([]byte) bool { return s.Text() })
			case c.method == "tools/call" && s.Peek() == '{':
				return c.readArguments(s, 0, 0)
			}
			return s.Value()
		}
		return s.Value()
	})
	return ok && seen.meta && seen.name
}

// readMeta finds the description of the client. go-sdk takes the last of several members
// with one name from it, and puts the level for log messages, which are deprecated, into
// the context under a key of its own. Such requests are left to go-sdk.
func (c *leanCall) readMeta(s *jsontext.Scanner) bool {
	found := false
	ok := s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case mcp.MetaKeyProtocolVersion:
			return once(&found) && s.Is(c.version)
		case mcp.MetaKeyClientInfo:
			return c.rawInfo == nil && s.Peek() == '{' && single(s, &c.rawInfo)
		case mcp.MetaKeyClientCapabilities:
			return c.rawCapabilities == nil && s.Peek() == '{' && single(s, &c.rawCapabilities)
		case mcp.MetaKeyLogLevel:
			return false
		}
		return s.Value()
	})
	return ok && found && c.rawCapabilities != nil
}

func single(s *jsontext.Scanner, raw *[]byte) (ok bool) {
	*raw, ok = s.Raw(s.Single)
	return ok
}

// readResponses reads the answers of a user. It reports false for those of a client's
// model or roots, which have more kinds of members, and for an answer with a member twice,
// which the other way refuses.
func readResponses(s *jsontext.Scanner) bool {
	var keys jsontext.Names
	return s.Object(func(key []byte) bool {
		var seen struct{ action, content, meta bool }
		ok := s.Object(func(name []byte) bool {
			switch string(name) {
			case "action":
				return once(&seen.action) && s.Text()
			case "content":
				return once(&seen.content) && s.Peek() == '{' && s.Single()
			case "_meta":
				return once(&seen.meta) && s.Peek() == '{' && s.Single()
			}
			return false
		})
		return ok && seen.action && keys.Add(key)
	})
}

// maxNotes bounds the notes of readArguments, and with them its work.
const maxNotes = 4 << 10

// readArguments reads an object and notes the path of each member, at any depth that
// the properties of a schema can reach. A path is that of the object which the member
// is in (from start to end in the notes), a zero byte and the name. A newline ends it,
// with a byte before it that marks a null. No name has any of these bytes.
func (c *leanCall) readArguments(s *jsontext.Scanner, start, end int) bool {
	return s.Object(func(name []byte) bool {
		from := len(c.arguments)
		c.arguments = append(append(c.arguments, c.arguments[start:end]...), 0)
		c.arguments = append(c.arguments, name...)
		to := len(c.arguments)
		if s.Peek() == 'n' {
			c.arguments = append(c.arguments, nullMark)
		}
		c.arguments = append(c.arguments, '\n')
		if len(c.arguments) > maxNotes {
			return false
		}
		if s.Peek() == '{' {
			return c.readArguments(s, from, to)
		}
		return s.Value()
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
