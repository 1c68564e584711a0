// Package load has many clients use one server at once: calm ones of both eras
// over HTTP and WebSocket, and among them clients that read slowly or not at all,
// hang up, and send hostile bodies. Its test runs for a second, in CI for five; for a minute
// run
//
//	go test ./lab/load -count=1 -v -for 1m
package load
