// Package conformance runs the official conformance suite, at a pinned version, against
// command server, which is written with this project. The tests hold the requirements of
// two revisions. README.md says how.
package conformance
