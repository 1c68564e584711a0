// Package corpus judges the prover: by a shop that is built in many correct ways, and with one
// mistake at a time that a generator made. See TestTheProverIsRight.
package corpus
