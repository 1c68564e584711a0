// Package conformance has the project judged by the official conformance
// suite. Command server is the server that the suite calls, command client is
// go-sdk's client, which the suite runs and which has nothing of ours, and the tests here run the suite at a pinned version
// against the requirements of two revisions. README.md says how.
package conformance
