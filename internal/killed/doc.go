// Package killed shows the fate of a call whose server process is killed or
// frozen in mid-call: for tests, which run their own binary again as the server.
//
// The processes are real and so are the signals. A process sends itself SIGKILL or
// SIGSTOP at a chosen [Point] of a round. Effects are lines of a file, each synced
// to disk, and are counted there. The client then sends the same request to
// another process, as one does that got no answer.
package killed
