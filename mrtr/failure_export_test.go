package mrtr

import "github.com/mrtr-go/sdk/mrtr/internal/failure"

// Failures is an error of an effect as it is first returned, and as a replay meets
// it.
func Failures(err error) (first, replayed error) {
	f := failureOf(err)
	again, e := failure.Read(f.Encode())
	if e != nil {
		panic(e)
	}
	return replayError(f), replayError(again)
}
