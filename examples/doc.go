// Package examples holds tools as a server of some size has them: an order, which asks for
// one thing after the other and reserves stock on the way, and a refund, each in four
// styles; an agenda, which needs its user's consent at a third party; and a booking that is
// migrated from Session.Elicit. Their tests print the questions, the effects and the
// results.
package examples
