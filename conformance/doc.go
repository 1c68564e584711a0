// Package conformance runs the official conformance suite, at a pinned version, against
// this project. Command server is the server that the suite calls. Command client is
// go-sdk's client, without any code of this module, and the suite runs it. The tests
// hold the requirements of two revisions. README.md says how.
package conformance
