// Command subject is a server that is measured:
//
//	subject SERVER TRANSPORT TOOLS
//
// It prints the address that it serves, unless the transport is stdio, and ends when its
// standard input does.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/metrics"
	"strconv"
)

// subject is a server, by the transports that it is measured over.
type subject struct {
	http      func(tools int) (http.Handler, error)
	websocket func(tools int) (http.Handler, error)
	stdio     func(tools int) error
}

var subjects = map[string]subject{
	"ours":               {http: ourHTTP, websocket: ourWebSocket, stdio: ourStdio},
	"ours on go-sdk":     {http: oursOnGoSDK},
	"go-sdk":             {http: goSDK},
	"mcp-go":             {http: mcpGo(), stdio: mcpGoStdio},
	"mcp-go, validating": {http: mcpGo(validating...)},
	"floor":              {http: floor},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("SERVER TRANSPORT TOOLS are wanted")
	}
	s, ok := subjects[arguments[0]]
	tools, err := strconv.Atoi(arguments[2])
	if !ok || err != nil {
		return fmt.Errorf("no subject %q with %q tools", arguments[0], arguments[2])
	}
	serve := map[string]func(int) (http.Handler, error){"http": s.http, "websocket": s.websocket}[arguments[1]]
	switch {
	case arguments[1] == "stdio" && s.stdio != nil:
		return s.stdio(tools)
	case serve == nil:
		return fmt.Errorf("%s is not measured over %s", arguments[0], arguments[1])
	}
	handler, err := serve(tools)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.HandleFunc("/allocated", allocated)
	go func() { panic(http.Serve(listener, mux)) }()
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// allocated says how many bytes the process has allocated so far.
func allocated(w http.ResponseWriter, _ *http.Request) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	fmt.Fprint(w, sample[0].Value.Uint64())
}
