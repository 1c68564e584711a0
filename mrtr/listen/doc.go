// Package listen is for those who write a listener: a log, a tracer, metrics, an audit. It has the
// interface, and the rounds, entries and ends that a listener is told of.
//
// The author of a tool needs none of it, and an operator who wants a log or events takes package
// observe, which is a listener. What [mrtr.Runtime.Stats] and Waiting count is described here too.
//
// [mrtr.Runtime.Stats]: https://pkg.go.dev/github.com/mrtr-go/sdk/mrtr#Runtime.Stats
package listen
