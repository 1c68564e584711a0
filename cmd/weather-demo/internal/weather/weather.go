// Package weather holds the parts that the demo's command shares with its page: the styles
// with their source, the tools that serve them, and calls over HTTP by clients of either era.
package weather

import (
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/charging"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// Implementation is how the demo's servers and clients introduce themselves.
var Implementation = &mcp.Implementation{Name: "weather-demo", Version: "1.0.0"}

// ReadOnly marks a tool that changes nothing.
var ReadOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// Styles lists the styles, then the landmines.
func Styles() []options.Option { return slices.Concat(options.All, landmine.All) }

// Tool is the weather tool in one style. One that charges a card is not read only.
func Tool(o options.Option) *mcp.Tool {
	tool := &mcp.Tool{Name: o.Tool(), Description: "The weather at a place. " + o.Lesson, Annotations: ReadOnly}
	if strings.HasSuffix(o.Name, charging.Suffix) {
		tool.Annotations = &mcp.ToolAnnotations{DestructiveHint: new(bool)}
	}
	return tool
}

// ErrorType is the type that an error gives itself. Its text may hold an answer, and is
// neither logged nor shown.
func ErrorType(err error) string {
	var typed interface{ ToolErrorType() string }
	switch {
	case err == nil:
		return ""
	case errors.As(err, &typed):
		return typed.ToolErrorType()
	}
	return "error"
}
