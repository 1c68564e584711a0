// Package claim decides which of several equal requests runs a turn of a call, by
// a record in a store. One request holds the turn and runs it; the others wait and
// get its result, now and whenever they come again.
//
// A turn is a round that enters the handler of a call, or ends it. Its one record
// says who holds it, which answers it was claimed with, which effects began and
// ended, and at last its result. Every write of a holder is at the revision of the
// one before, so a holder that was given up cannot write any more.
//
// The package knows nothing of the protocol: answers are a fingerprint, effects
// and results are JSON.
package claim
