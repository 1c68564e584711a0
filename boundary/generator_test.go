package boundary_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

// A maker draws what a handler does and returns, good and bad. One seed always draws the
// same, so that a test can draw it again and compare.
type maker struct {
	*rand.Rand
	release <-chan struct{} // ends whatever hangs
	faults  []string        // the types of error that the drawn flaws may end in; one suffices
	large   bool            // it is over the limit
}

func newMaker(seed uint64, release <-chan struct{}) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(seed, 0)), release: release}
}

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }
func (m *maker) oneIn(n int) bool     { return m.IntN(n) == 0 }
func (m *maker) fault(kind string)    { m.faults = append(m.faults, kind) }
func (m *maker) malformed(n int) bool { return m.flawed(n, "malformed_result") }

// flawed is true once in n times.
func (m *maker) flawed(n int, kind string) bool {
	if !m.oneIn(n) {
		return false
	}
	m.fault(kind)
	return true
}

func (m *maker) text() string {
	return pick(m, "a", "hello", "\xff\xfe", "<\u2028>&", "\x00\x1b[31m", strings.Repeat("é", 50), "")
}

// value is anything that is encoded as JSON.
func (m *maker) value() any {
	bad := func(kind string, v any) any { m.fault(kind); return v }
	switch m.IntN(70) {
	case 0:
		return bad("malformed_result", pick[any](m, math.NaN(), math.Inf(1), func() {}, make(chan int), cyclicMap()))
	case 1:
		deep := strings.Repeat("[", 1200) + strings.Repeat("]", 1200)
		return bad("malformed_result", json.RawMessage(pick(m, `{"a":`, ``, "\"\xff\"", `{"a":1e999}`, deep)))
	case 2:
		return bad("malformed_result", marshaler(func() ([]byte, error) { return nil, errors.New("s3cret") }))
	case 3:
		return bad("internal", marshaler(func() ([]byte, error) { panic("s3cret") }))
	case 4:
		return bad("internal", marshaler(func() ([]byte, error) { runtime.Goexit(); return nil, nil }))
	case 5:
		return bad("timeout", marshaler(func() ([]byte, error) { <-m.release; return nil, errors.New("late") }))
	}
	return pick[any](m, "a", 1, 1.5, true, map[string]any{"b": []any{1.5, nil}}, []byte("d"), json.RawMessage(`"c"`), twice(`"once"`), map[string]any{"x": twice(`1`)})
}

func (m *maker) meta() mcp.Meta {
	if !m.oneIn(3) {
		return nil
	}
	meta := mcp.Meta{"mine": m.value()}
	switch wrong := m.flawed(12, "malformed_result"); {
	case wrong:
		meta[pick(m, mcp.MetaKeyServerInfo, "io.modelcontextprotocol/related-task", mcp.MetaKeyClientCapabilities)] = pick[any](m, 5, nil, json.RawMessage(`[]`))
	case m.oneIn(4):
		meta[pick(m, "progressToken", mcp.MetaKeySubscriptionID)] = pick[any](m, "a", 7, json.RawMessage(`7`))
	}
	return meta
}

func (m *maker) annotations() *mcp.Annotations {
	a := &mcp.Annotations{Audience: []mcp.Role{pick[mcp.Role](m, "user", "assistant")}, Priority: pick(m, 0, 0.5, 1), LastModified: pick(m, "", "2026-01-02", "2026-01-02T15:04:05Z", "2026-01-02T15:04")}
	if !m.malformed(12) {
		return a
	}
	switch m.IntN(3) {
	case 0:
		a.Priority = pick(m, 2, -0.1, math.NaN(), math.Inf(1))
	case 1:
		a.Audience = append(a.Audience, "robot")
	case 2:
		a.LastModified = "yesterday"
	}
	return a
}

func (m *maker) extras() (mcp.Meta, *mcp.Annotations) {
	meta := m.meta()
	if !m.oneIn(3) {
		return meta, nil
	}
	return meta, m.annotations()
}

// block is a block of content. In a result a model's use of a tool is out of place.
func (m *maker) block(inResult bool) mcp.Content {
	if m.malformed(20) {
		bad := []mcp.Content{nil, (*mcp.TextContent)(nil), (*mcp.ImageContent)(nil), &mcp.EmbeddedResource{}, &mcp.ResourceLink{Name: "nowhere"},
			foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"hologram"}`), nil }},
			&mcp.ResourceLink{URI: "test://l", Name: "l", Icons: []mcp.Icon{{Source: "test://i", Theme: "blue"}}}}
		if inResult {
			bad = append(bad, &mcp.ToolUseContent{ID: "1", Name: "x"})
		} else {
			m.fault("internal") // go-sdk's encoder of a nil block panics
		}
		return pick(m, bad...)
	}
	kind := m.IntN(8)
	if !inResult && (kind == 2 || kind == 3) {
		kind = 4 // a model reads no links
	}
	if kind == 7 {
		return foreign{marshal: twice(`{"type":"text","text":"foreign"}`)}
	}
	meta, notes := m.extras()
	switch kind {
	case 0:
		return &mcp.ImageContent{Data: []byte("data"), MIMEType: "image/png", Meta: meta, Annotations: notes}
	case 1:
		return &mcp.AudioContent{Data: []byte("data"), MIMEType: "audio/wav", Meta: meta, Annotations: notes}
	case 2:
		size := int64(3)
		return &mcp.ResourceLink{URI: "test://l", Name: "l", Size: &size, Icons: []mcp.Icon{{Source: "test://i", Theme: "light", Sizes: []string{"any"}}}, Meta: meta, Annotations: notes}
	case 3:
		return &mcp.EmbeddedResource{Resource: m.contents("test://r"), Meta: meta, Annotations: notes}
	}
	return &mcp.TextContent{Text: m.text(), Meta: meta, Annotations: notes}
}

func (m *maker) contents(uri string) *mcp.ResourceContents {
	if m.oneIn(2) {
		return &mcp.ResourceContents{URI: uri, Blob: []byte("data"), Meta: m.meta()}
	}
	return &mcp.ResourceContents{URI: uri, Text: cmp.Or(m.text(), "a"), MIMEType: "text/plain", Meta: m.meta()}
}

func (m *maker) content() []mcp.Content {
	blocks := []mcp.Content{}
	for range m.IntN(4) {
		blocks = append(blocks, m.block(true))
	}
	if m.oneIn(30) {
		m.large = true
		blocks = append(blocks, &mcp.TextContent{Text: strings.Repeat(pick(m, "x", "é", "<", "\x00"), maxResultBytes+m.IntN(maxResultBytes))})
	}
	return blocks
}

func (m *maker) question() mcp.InputRequest {
	if m.malformed(10) {
		return pick[mcp.InputRequest](m, nil, (*mcp.ElicitParams)(nil), &mcp.ElicitParams{Mode: "dance", Message: "?"}, &mcp.ElicitParams{Mode: "url", Message: "?"},
			&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{nil}},
			&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{{Role: "robot"}}},
			&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{}, IncludeContext: "everything"},
			&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{}, Tools: []*mcp.Tool{nil}},
			&mcp.ElicitParams{Message: "?", RequestedSchema: pick[any](m, "text", map[string]any{"type": "array"}, map[string]any{"type": "object"},
				form(`{"type":"object"}`), form(`{"type":"array","items":{"type":"string"}}`), form(`null`), form(`3`))})
	}
	meta := m.meta()
	switch m.IntN(5) {
	case 0:
		return &mcp.ElicitParams{Mode: "url", Message: "?", URL: "https://example.com/", ElicitationID: "1", Meta: meta}
	case 1:
		return &mcp.CreateMessageWithToolsParams{MaxTokens: 1, Meta: meta, StopSequences: []string{"a"}, Metadata: map[string]any{"a": m.value()}, IncludeContext: pick(m, "", "none", "thisServer"),
			ModelPreferences: &mcp.ModelPreferences{Hints: []*mcp.ModelHint{{Name: "a"}}},
			Messages:         []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{m.block(false), &mcp.ToolUseContent{ID: "u", Name: "n", Input: map[string]any{"a": "b"}}}}},
			Tools:            []*mcp.Tool{{Name: "t", InputSchema: map[string]any{"type": "object", "x": m.value()}, Meta: m.meta(), Annotations: &mcp.ToolAnnotations{Title: "a"}}}}
	case 2:
		return &mcp.CreateMessageParams{MaxTokens: 1, Meta: meta, Messages: []*mcp.SamplingMessage{{Role: "assistant", Content: m.block(false)}}}
	case 3:
		return &mcp.ListRootsParams{Meta: meta}
	}
	schema := pick[any](m, &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"units": {Type: "string"}}},
		form(`{"type":"array","items":{"enum":["a"]}}`), form(`{"type":"boolean"}`), twice(`{"type":"object","properties":{}}`))
	if m.oneIn(6) {
		schema = map[string]any{"type": "object", "properties": map[string]any{}, "x": m.value()}
	}
	return &mcp.ElicitParams{Mode: pick(m, "", "form"), Message: m.text(), RequestedSchema: schema, Meta: meta}
}

func form(property string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"a":` + property + `}}`)
}

// asking is nil for most results.
func (m *maker) asking() (questions mcp.InputRequestMap, state string) {
	if !m.oneIn(5) {
		if m.malformed(30) {
			state = "a state and nothing asked"
		}
		return nil, state
	}
	questions = mcp.InputRequestMap{}
	for i := range m.IntN(3) {
		questions[fmt.Sprint("q", i)] = m.question()
	}
	state = pick(m, "", "s")
	if len(questions) == 0 && state == "" || m.malformed(20) {
		m.fault("malformed_result")
		questions, state = mcp.InputRequestMap{}, pick(m, "", "\xff")
	}
	return questions, state
}

// A raised error has the kind, code and text that its client reads.
type raised struct {
	err   error
	kind  string // its type in a report
	text  string // pattern of its text
	code  int64  // of the JSON-RPC error that was chosen; 0: none
	inner bool   // the code counts at a tool too
	level string
}

// dependencies are errors that a tool gets from below.
func (m *maker) dependency() error {
	secret := errors.New("s3cret")
	err := pick[error](m, &net.OpError{Op: "dial", Net: "tcp", Err: secret}, &net.DNSError{Err: "no such host", Name: "s3cret"}, net.ErrClosed,
		&fs.PathError{Op: "open", Path: "/s3cret", Err: syscall.ENOENT}, os.NewSyscallError("connect", syscall.ECONNREFUSED), syscall.ECONNRESET, os.ErrDeadlineExceeded,
		&exec.Error{Name: "s3cret", Err: exec.ErrNotFound}, io.ErrUnexpectedEOF, sql.ErrNoRows, &queryError{`relation "s3cret" does not exist`}, context.Canceled)
	switch m.IntN(4) {
	case 0:
		return fmt.Errorf("opening s3cret: %w", fmt.Errorf("s3cret: %w", err))
	case 1:
		return errors.Join(secret, err)
	case 2:
		return fmt.Errorf("%w: s3cret: %w", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no"}, err)
	}
	return err
}

type queryError struct{ text string }

func (e *queryError) Error() string    { return e.text }
func (e *queryError) SQLState() string { return "42P01" }

const ourFault = ` failed because of a fault in the server\.`

func (m *maker) raise() raised {
	secret := errors.New("s3cret")
	saved := &boundary.Execution{Message: "It could not be saved.", Err: errors.Join(m.dependency(), secret)}
	upstream := &jsonrpc.Error{Code: -31234, Message: "no", Data: json.RawMessage(`{"a":1}`)}
	return pick(m,
		raised{err: m.dependency(), kind: "execution", text: ourFault + "$", level: "ERROR"},
		raised{err: m.dependency(), kind: "execution", text: ourFault + "$", level: "ERROR"},
		raised{err: errors.New("the station is closed"), kind: "execution", text: "^the station is closed$", level: "ERROR"},
		raised{err: errors.New(pick(m, "", " \n")), kind: "execution", text: " failed and gave no reason.$", level: "ERROR"},
		raised{err: saved, kind: "execution", text: "^It could not be saved.$", level: "ERROR"},
		raised{err: fmt.Errorf("saving: %w", saved), kind: "execution", text: "^saving: It could not be saved.$", level: "ERROR"},
		raised{err: errors.Join(saved, fmt.Errorf("s3cret: %w", m.dependency())), kind: "execution", text: "^It could not be saved.$", level: "ERROR"},
		raised{err: &boundary.Execution{Operation: "geocode", Expected: true, Err: secret}, kind: "execution", text: "^geocode failed.$", level: "WARN"},
		raised{err: &boundary.Validation{Fields: []boundary.FieldError{{Pointer: "/a", Problem: "is wrong"}}}, kind: "validation", text: "^1 argument problem: /a is wrong.$", level: "WARN"},
		raised{err: fmt.Errorf("weather: %w", noPlace{}), kind: "not_found", text: "^weather: There is no such place.$", level: "WARN"},
		raised{err: errors.Join(&declined{"units"}), kind: "declined", text: `^Stopped: "units" was declined.$`, level: "INFO"},
		raised{err: fmt.Errorf("outer: %w", &boundary.Protocol{Code: -31234, Message: "busy", Data: upstream.Data, Err: secret}), code: -31234, inner: true, text: "^busy$", level: "WARN"},
		raised{err: upstream, code: -31234, inner: true, text: "^no$", level: "WARN"},
		raised{err: &jsonrpc.Error{Code: 7, Message: strings.Repeat("<", 4*maxResultBytes), Data: json.RawMessage(`"` + strings.Repeat("x", 4*maxResultBytes) + `"`)}, code: 7, inner: true, text: `^<+\.\.\. \(\d+ bytes\)$`, level: "WARN"},
		raised{err: fmt.Errorf("upstream: %w", upstream), code: -31234, kind: "execution", text: "^upstream: .*no", level: "ERROR"},
		raised{err: (*jsonrpc.Error)(nil), kind: "internal", text: ".", level: "ERROR"},
		raised{err: saying(func() string { panic("s3cret") }), kind: "internal", text: ".", level: "ERROR"},
		raised{err: saying(func() string { runtime.Goexit(); return "" }), kind: "internal", text: ".", level: "ERROR"},
		raised{err: saying(second(func() string { return "told once" })), kind: "", text: ".", level: "ERROR"},
		raised{err: &endless{release: m.release}, kind: "execution", text: "^round and round$", level: "ERROR"},
		raised{err: describedBadly{}, kind: "internal", text: ".", level: "ERROR"},
	)
}

// A plan is what one handler does in one call.
type plan struct {
	*maker
	ends   bool                  // before it returns: it panics, exits or hangs
	do     func(context.Context) // before it returns
	spoils bool                  // it spoils its request
	raised raised
	res    mcp.Result
	asks   bool
}

func draw(place site, seed uint64, release <-chan struct{}) *plan {
	m := newMaker(seed, release)
	p := &plan{maker: m, spoils: m.oneIn(10), do: m.act()}
	p.ends = len(m.faults) > 0
	if m.oneIn(3) {
		p.raised = m.raise()
	}
	var questions mcp.InputRequestMap
	var state string
	if place != atCompletion && place != atCustom {
		questions, state = m.asking()
		p.asks = questions != nil
	}
	switch place {
	case atTool:
		p.res = m.toolResult(questions, state)
	case atPrompt:
		p.res = m.promptResult(questions, state)
	case atResource:
		p.res = m.resourceResult(questions, state)
	case atCompletion:
		res := &mcp.CompleteResult{Meta: m.meta(), Completion: mcp.CompletionResultDetails{Values: []string{}}}
		for range m.IntN(3) {
			res.Completion.Values = append(res.Completion.Values, m.text())
		}
		res.Completion.Total, res.Completion.HasMore = m.IntN(3), m.oneIn(2)
		p.res = res
	case atCustom:
		p.res = &searchResult{Hit: m.value()}
	}
	return p
}

func (m *maker) toolResult(questions mcp.InputRequestMap, state string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Meta: m.meta(), InputRequests: questions, RequestState: state}
	if questions != nil {
		return res
	}
	res.Content = m.content()
	if res.IsError = m.oneIn(8); !res.IsError && m.oneIn(3) {
		res.StructuredContent = map[string]any{"a": m.value(), "b": m.value()}
	}
	if res.IsError && len(m.faults) > 0 {
		m.fault("execution") // a _meta that cannot be sent costs an error nothing
	}
	return res
}

func (m *maker) promptResult(questions mcp.InputRequestMap, state string) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{Meta: m.meta(), InputRequests: questions, RequestState: state}
	if questions != nil {
		return res
	}
	res.Description = m.text()
	for _, block := range m.content() {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: block})
	}
	if m.malformed(20) {
		res.Messages = append(res.Messages, pick(m, nil, &mcp.PromptMessage{Role: "robot", Content: &mcp.TextContent{}}, &mcp.PromptMessage{Role: "user"}))
	}
	return res
}

func (m *maker) resourceResult(questions mcp.InputRequestMap, state string) *mcp.ReadResourceResult {
	res := &mcp.ReadResourceResult{Meta: m.meta(), InputRequests: questions, RequestState: state}
	if questions != nil {
		return res
	}
	res.Contents = []*mcp.ResourceContents{}
	for range m.IntN(3) {
		res.Contents = append(res.Contents, m.contents(badScheme))
	}
	res.CacheScope, res.TTLMs = pick(m, "", "public", "private"), m.IntN(2)
	if m.malformed(20) {
		res.CacheScope = "galaxy"
	} else if m.malformed(20) {
		res.TTLMs = -1
	}
	if m.oneIn(30) {
		m.large = true
		res.Contents = append(res.Contents, &mcp.ResourceContents{URI: badScheme, Text: strings.Repeat("x", maxResultBytes)})
	}
	return res
}

// act plays the part of the handler before it returns.
func (m *maker) act() func(context.Context) {
	switch m.IntN(40) {
	case 0:
		m.faults = []string{"internal"}
		v := pick[any](m, "s3cret", errors.New("s3cret"), struct{ F func() }{}, cyclicMap(), saying(func() string { panic("s3cret") }), saying(func() string { runtime.Goexit(); return "" }))
		return func(context.Context) { panic(v) }
	case 1:
		m.faults = []string{"internal"}
		return func(context.Context) { defer func() { panic("s3cret") }(); panic("s3cret") }
	case 2:
		m.faults = []string{"internal"}
		return func(context.Context) { runtime.Goexit() }
	case 3:
		m.faults = []string{"timeout"}
		return func(context.Context) { <-m.release }
	}
	return func(context.Context) {}
}
