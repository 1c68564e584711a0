// Package examples holds two tools as a server of some size has them, each in four
// styles: an order, which asks for one thing after the other and reserves stock on the
// way, and a refund. Their tests print the questions, the effects and the results.
package examples
