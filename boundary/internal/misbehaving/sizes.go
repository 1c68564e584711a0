package misbehaving

import (
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// oversized are the tools that return too much, or strange characters.
func oversized() []Case {
	return []Case{
		{Name: "text_10mib", Explanation: "far over any limit", Raw: Returns(Text(strings.Repeat("wörd ", 10<<20/6))), Want: probe.Complete, Elsewhere: probe.ProtocolError},
		{Name: "structured_too_large", Explanation: "what is left of it could not satisfy the schema", Raw: Returns(Structured(map[string]any{"celsius": 1, "note": strings.Repeat("x", 4*maxResultBytes)})), Output: Celsius, Want: probe.ErrorResult, Type: "too_large"},
		{Name: "image_too_large", Explanation: "an image is dropped whole", Raw: Returns(Content(&mcp.ImageContent{Data: make([]byte, 4*maxResultBytes), MIMEType: "image/png"}, &mcp.TextContent{Text: "caption"})), Want: probe.Complete, Elsewhere: probe.ProtocolError},
		{Name: "error_too_large", Explanation: "an error stays one when it is cut", Typed: raises(errors.New(strings.Repeat("é", 2*maxResultBytes))), Want: probe.ErrorResult, Type: "execution"},
		{Name: "text_not_utf8", Explanation: "bytes that are no text", Raw: Returns(Text("a\xff\xfeb")), Want: probe.Complete},
		{Name: "text_controls", Explanation: "characters that JSON and JavaScript escape", Raw: Returns(Text("\x00\x1b[31m\u2028\u2029</script>")), Want: probe.Complete},
	}
}
