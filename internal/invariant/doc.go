// Package invariant checks that several ways to write a tool are one tool to
// its clients. It works as testing/slogtest does: the caller brings subjects
// (ways to serve the tool) and contracts (one call each, with everything it must
// result in), and every subject is called over the wire and judged by the same
// named rules.
//
//	invariant.Run(t, subjects, contracts, invariant.Setting{Name: "one instance"})
//
// A finding names the subject, the contract and the rule it broke, and quotes
// the rule's explanation.
package invariant
