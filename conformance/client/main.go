// Command client is run by the official conformance suite as a client. The suite
// appends the address of its server to the command line, and names the
// scenario in the environment.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
)

// A scenario is one task of the suite for a client.
type scenario func(ctx context.Context, at *setting) error

// setting are the parameters of a run, from the suite.
type setting struct {
	URL     string
	Version string // the revision to speak; "" for the newest
	Context struct {
		ClientID     string     `json:"client_id"`
		ClientSecret string     `json:"client_secret"`
		ToolCalls    []toolCall `json:"toolCalls"`
	}
}

type toolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

var scenarios = map[string]scenario{
	"initialize":                          listTools,
	"request-metadata":                    connectOnly,
	"json-schema-ref-no-deref":            listTools,
	"json-schema-2020-12-preservation":    echoSchema,
	"tools_call":                          addNumbers,
	"sse-retry":                           callEvery(nil),
	"elicitation-sep1034-client-defaults": acceptDefaults,
	"sep-2322-client-request-state":       answerRounds,
	"http-standard-headers":               useEverything,
	"http-custom-headers":                 callAsTold,
	"http-invalid-tool-headers":           callEvery(map[string]any{"region": "us-west1"}),
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: %s URL", os.Args[0])
	}
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	play := scenarios[name]
	if strings.HasPrefix(name, "auth/") {
		play = authorized
	}
	if play == nil {
		return fmt.Errorf("no such scenario: %q", name)
	}
	at := &setting{URL: os.Args[1], Version: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION")}
	if told := os.Getenv("MCP_CONFORMANCE_CONTEXT"); told != "" {
		if err := json.Unmarshal([]byte(told), &at.Context); err != nil {
			return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if err := play(ctx, at); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
