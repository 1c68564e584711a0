// Command server serves the misbehaving tools behind a boundary over HTTP, with
// go-sdk's own handlers: without sessions under /modern/mcp, with sessions under
// /legacy/mcp, since go-sdk can ask each era's clients in only one of the two ways.
// /cases lists the outcome that each tool's call must have. The command prints its
// address, and ends at the end of its input.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
	"github.com/mrtr-go/sdk/internal/probe"
)

// expectation is the part of a case that a client needs.
type expectation struct {
	Place     misbehaving.Place           `json:"place"`
	Name      string                      `json:"name"`
	Arguments any                         `json:"arguments,omitempty"` // the wrong ones
	Unlawful  bool                        `json:"unlawful,omitempty"`  // no client library sends such arguments
	Asks      bool                        `json:"asks,omitempty"`      // a client that can be asked gets another answer
	Outcomes  map[probe.Era]probe.Outcome `json:"outcomes"`
}

func main() {
	log.SetFlags(0)
	cases := misbehaving.Cases(nil)
	server, err := misbehaving.Bounded(cases)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	for path, stateless := range map[string]bool{"/modern/mcp": true, "/legacy/mcp": false} {
		mux.Handle(path, mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
	}
	mux.HandleFunc("/cases", func(w http.ResponseWriter, _ *http.Request) {
		var all []expectation
		for _, place := range misbehaving.Places {
			for _, c := range misbehaving.In(place, cases) {
				e := expectation{place, c.Name, c.Arguments, c.Wire != "", c.Asks, map[probe.Era]probe.Outcome{}}
				for _, era := range []probe.Era{probe.Modern, probe.Legacy} {
					e.Outcomes[era], _ = c.WantedAt(place, era)
				}
				all = append(all, e)
			}
		}
		if err := json.NewEncoder(w).Encode(all); err != nil {
			log.Print(err)
		}
	})
	fmt.Printf("listening on http://%s\n", listener.Addr())
	go func() { log.Fatal(http.Serve(listener, mux)) }()
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		log.Fatal(err)
	}
}
