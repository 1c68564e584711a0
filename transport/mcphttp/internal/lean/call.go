package lean

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/segmentio/encoding/json"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// Call is a call that was read.
type Call struct {
	front  *Front
	body   []byte
	method string
	id     jsonrpc.ID
	rawID  []byte // as it was sent
	name   string // of the tool or prompt, or the URI of the resource
	takes  bool   // a tool's arguments have a member, which a header may have to repeat

	version string

	// Parts of the body, nil for those that are left out.
	rawParams                                     []byte
	rawMeta, rawArguments, rawResponses, rawState []byte // of the params
	rawInfo, rawCapabilities                      []byte // of _meta

	// After decode.
	params mcp.Params
	client *mcp.InitializeParams // as the _meta of the params describes the client
}

// The headers that repeat what is in the body.
const (
	methodHeader  = "Mcp-Method"
	versionHeader = "Mcp-Protocol-Version"
	nameHeader    = "Mcp-Name"
	paramPrefix   = "Mcp-Param-"
)

// Read reads a modern POST and its body. It returns nil for a request that go-sdk's
// handler has to serve, as all of them if there is no front.
func (f *Front) Read(r *http.Request, body []byte) *Call {
	if f == nil {
		return nil
	}
	method, version, name := r.Header.Get(methodHeader), r.Header.Get(versionHeader), r.Header.Get(nameHeader)
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		if name == "" {
			return nil
		}
	case "tools/list":
		if r.Header.Values(nameHeader) != nil {
			return nil
		}
	default:
		return nil
	}
	if r.Header.Get("Content-Type") != "application/json" || !acceptsBoth(r.Header.Values("Accept")) {
		return nil
	}
	for header := range r.Header {
		if strings.HasPrefix(header, paramPrefix) { // go-sdk compares them with the arguments
			return nil
		}
	}
	if _, limited := r.Context().Deadline(); limited { // no session hands one to its handlers
		return nil
	}
	if len(body) > maxBody {
		return nil
	}
	call := &Call{front: f, body: body, method: method, name: name, version: version}
	if !call.readMessage(jsontext.Walk(body, maxDepth).Plain()) {
		return nil
	}
	return call
}

// decode decodes the params and describes the client. It uses go-sdk's decoder with
// go-sdk's setting, so that both find the same in the same bytes.
func (c *Call) decode() bool {
	switch c.method {
	case "tools/call":
		return c.decodeToolCall() && c.describeClient()
	case "tools/list":
		c.params = &mcp.ListToolsParams{}
	case "prompts/get":
		c.params = &mcp.GetPromptParams{}
	default:
		c.params = &mcp.ReadResourceParams{}
	}
	_, err := json.Parse(c.rawParams, c.params, json.DontMatchCaseInsensitiveStructFields)
	return err == nil && c.describeClient()
}

// decodeToolCall decodes the members where they were found.
func (c *Call) decodeToolCall() bool {
	params := &mcp.CallToolParamsRaw{Name: c.name, Arguments: bytes.Clone(c.rawArguments)}
	c.params = params
	w := jsontext.Walk(c.rawMeta, maxDepth)
	if params.Meta, _ = w.Decode().(map[string]any); !w.End() {
		return false
	}
	if c.rawResponses != nil {
		if params.InputResponses = decodeResponses(c.rawResponses); params.InputResponses == nil {
			return false
		}
	}
	if c.rawState != nil {
		if _, err := json.Parse(c.rawState, &params.RequestState, 0); err != nil {
			return false
		}
	}
	return true
}

// decodeResponses decodes what [readResponses] has read. It is nil if a number is too large.
func decodeResponses(text []byte) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	w := jsontext.Walk(text, maxDepth)
	for key := range w.Members {
		response := &mcp.ElicitResult{}
		responses[string(key)] = response
		for name := range w.Members {
			switch string(name) {
			case "action":
				response.Action = string(w.Text())
			case "content":
				response.Content, _ = w.Decode().(map[string]any)
			case "_meta":
				response.Meta, _ = w.Decode().(map[string]any)
			}
		}
	}
	if !w.End() {
		return nil
	}
	return responses
}

// describeClient makes the params of an initialize out of _meta, as go-sdk's session does.
func (c *Call) describeClient() bool {
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
func (c *Call) request(session *mcp.ServerSession, extra *mcp.RequestExtra) mcp.Request {
	switch params := c.params.(type) {
	case *mcp.CallToolParamsRaw:
		return &mcp.CallToolRequest{Session: session, Params: params, Extra: extra}
	case *mcp.ListToolsParams:
		return &mcp.ListToolsRequest{Session: session, Params: params, Extra: extra}
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

// Messages beyond these bounds are left to the other way, which judges them with
// [message.Refusal].
const (
	maxDepth   = 64
	maxBody    = 256 << 10
	maxMeta    = 64 << 10
	maxMembers = 100 // of the params
)

func (c *Call) readMessage(w *jsontext.Walker) bool {
	var seen struct{ jsonrpc, id, method, params bool }
	for name := range w.Members {
		ok := false
		switch string(name) {
		case "jsonrpc":
			ok = once(&seen.jsonrpc) && is(w, "2.0")
		case "id":
			ok = once(&seen.id) && c.readID(w)
		case "method":
			ok = once(&seen.method) && is(w, c.method)
		case "params":
			start := w.Offset()
			ok = once(&seen.params) && c.readParams(w)
			c.rawParams = w.Since(start)
		}
		if !ok {
			return false
		}
	}
	return w.End() && seen.jsonrpc && seen.id && seen.method && seen.params
}

// once reports whether a member is the first of its name.
func once(seen *bool) bool {
	again := *seen
	*seen = true
	return !again
}

// is reads a value and reports whether it is this text, without any escape.
func is(w *jsontext.Walker, text string) bool {
	value := w.Value()
	return len(value) == len(text)+2 && value[0] == '"' && string(value[1:len(value)-1]) == text && jsontext.IsPlain(text)
}

// isObject reads an object and reports whether it is one in which no name stands twice
// in one object, at any depth.
func isObject(w *jsontext.Walker) bool {
	if w.Kind() != '{' {
		return false
	}
	_, found := w.Repeated()
	return !found
}

// maxIDDigits is how many digits a number may have that is read the same by all.
const maxIDDigits = 15

func (c *Call) readID(w *jsontext.Walker) bool {
	var id any
	if c.rawID = w.Value(); len(c.rawID) > 0 && c.rawID[0] == '"' {
		text := c.rawID[1 : len(c.rawID)-1]
		if !jsontext.IsPlain(text) {
			return false
		}
		id = string(text)
	} else {
		n, err := strconv.ParseInt(string(c.rawID), 10, 64)
		if err != nil || len(c.rawID) > maxIDDigits || string(c.rawID) == "-0" {
			return false
		}
		id = float64(n)
	}
	c.id, _ = jsonrpc.MakeID(id) // fails for other types alone
	return true
}

func (c *Call) readParams(w *jsontext.Walker) bool {
	if c.method == "tools/list" {
		return c.readPage(w)
	}
	key := "name"
	if c.method == "resources/read" {
		key = "uri"
	}
	var seen struct{ meta, name, arguments, responses, state bool }
	members, others := 0, jsontext.NameSet{}
	for name := range w.Members {
		members++
		start, ok := w.Offset(), members <= maxMembers
		switch string(name) {
		case "_meta":
			ok = once(&seen.meta) && c.readMeta(w)
			c.rawMeta = w.Since(start)
		case key:
			ok = once(&seen.name) && is(w, c.name)
		case "inputResponses":
			ok = once(&seen.responses) && readResponses(w)
			c.rawResponses = w.Since(start)
		case "requestState":
			ok = once(&seen.state) && w.Kind() == '"'
			c.rawState = w.Value()
		case "arguments":
			ok = once(&seen.arguments)
			switch c.method {
			case "prompts/get":
				ok = readTexts(w) && ok
			case "tools/call":
				ok = c.readArguments(w) && ok
				c.rawArguments = w.Since(start)
			default:
				_, repeated := w.Repeated()
				ok = ok && !repeated
			}
		default:
			_, repeated := w.Repeated()
			ok = ok && others.Add(name) && !repeated
		}
		if !ok {
			return false
		}
	}
	return seen.meta && seen.name
}

// readPage reads the params of a list.
func (c *Call) readPage(w *jsontext.Walker) bool {
	var seen struct{ meta, cursor bool }
	for name := range w.Members {
		ok := false
		switch string(name) {
		case "_meta":
			ok = once(&seen.meta) && c.readMeta(w)
		case "cursor":
			ok = once(&seen.cursor) && w.Kind() == '"'
		}
		if !ok {
			return false
		}
	}
	return seen.meta
}

// readMeta finds the description of the client. go-sdk takes the last of several members
// with one name from it, and puts the level for log messages, which are deprecated, into
// the context under a key of its own. Such requests are left to go-sdk.
func (c *Call) readMeta(w *jsontext.Walker) bool {
	found, begin := false, w.Offset()
	var others jsontext.NameSet
	for name := range w.Members {
		start, ok := w.Offset(), true
		switch string(name) {
		case mcp.MetaKeyProtocolVersion:
			ok = once(&found) && is(w, c.version)
		case mcp.MetaKeyClientInfo:
			ok = c.rawInfo == nil && isObject(w)
			c.rawInfo = w.Since(start)
		case mcp.MetaKeyClientCapabilities:
			ok = c.rawCapabilities == nil && isObject(w)
			c.rawCapabilities = w.Since(start)
		case mcp.MetaKeyLogLevel:
			ok = false
		case "progressToken":
			ok = others.Add(name) && (w.Kind() == '"' || message.IsExactInteger(w.Value()))
		default:
			_, repeated := w.Repeated()
			ok = others.Add(name) && !repeated
		}
		if !ok {
			return false
		}
	}
	return found && c.rawCapabilities != nil && w.Offset()-begin <= maxMeta
}

// readResponses reads the answers of a user. It reports false for those of a client's
// model or roots, which have more kinds of members, and for an answer with a member twice,
// which the other way refuses.
func readResponses(w *jsontext.Walker) bool {
	var keys jsontext.NameSet
	for key := range w.Members {
		var seen struct{ action, content, meta bool }
		for name := range w.Members {
			ok := false
			switch string(name) {
			case "action":
				ok = once(&seen.action) && w.Kind() == '"'
			case "content":
				ok = once(&seen.content) && isObject(w)
			case "_meta":
				ok = once(&seen.meta) && isObject(w)
			}
			if !ok {
				return false
			}
		}
		if !seen.action || !keys.Add(key) {
			return false
		}
	}
	return true
}

// readTexts reads an object whose members are strings.
func readTexts(w *jsontext.Walker) bool {
	var names jsontext.NameSet
	for name := range w.Members {
		if w.Kind() != '"' || !names.Add(name) {
			return false
		}
	}
	return true
}

// readArguments reads an object, and notes whether it has a member.
func (c *Call) readArguments(w *jsontext.Walker) bool {
	var names jsontext.NameSet
	if w.Kind() != '{' {
		return false
	}
	for name := range w.Members {
		c.takes = true
		if !names.Add(name) || !isExact(w) {
			return false
		}
	}
	return true
}

// isExact reads a value, and reports whether no name stands twice in one object of it,
// and no number is one that readers round.
func isExact(w *jsontext.Walker) bool {
	switch w.Kind() {
	case '{':
		var names jsontext.NameSet
		for name := range w.Members {
			if !names.Add(name) || !isExact(w) {
				return false
			}
		}
	case '[':
		for range w.Elements {
			if !isExact(w) {
				return false
			}
		}
	case 't', 'f', 'n', '"':
		w.Value()
	default:
		return !message.IsInexact(w.Value())
	}
	return true
}
