// Package weather holds the parts that the demo's command shares with its page: the styles
// of the weather tool, in either era, and their source.
package weather

import (
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// Implementation is how the demo's servers and clients introduce themselves.
var Implementation = &mcp.Implementation{Name: "weather-demo", Version: "1.0.0"}

// Era names a kind of client.
type Era string

const (
	Modern Era = "modern"
	Legacy Era = "legacy"
)

// Client is a raw client of this era.
func (e Era) Client() *wire.Options {
	if e == Legacy {
		return &wire.Options{Version: wire.Legacy}
	}
	return nil
}

// FirstChoices is a user who always takes the first choice.
var FirstChoices = wire.Answers{
	"place": wire.Value("Springfield, Illinois"),
	"units": wire.Value("metric"),
}

// Styles lists the styles, then the landmines.
func Styles() []options.Option { return slices.Concat(options.All, landmine.All) }

// ChargesLate reports whether a style is one of [Late].
func ChargesLate(o options.Option) bool {
	return slices.ContainsFunc(Late, func(l options.Option) bool { return l.Name == o.Name })
}

// Tool is the weather tool in one style.
func Tool(o options.Option) *mcp.Tool {
	return &mcp.Tool{Name: o.Tool(), Description: "The weather at a place, for a small charge. " + o.Lesson, Annotations: Additive}
}

// Additive marks a tool that destroys nothing.
var Additive = &mcp.ToolAnnotations{DestructiveHint: new(bool)}

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
