// Package kit is what the tests of the engine, its styles and its keepers share: runtimes
// whose events are recorded, a tool that is called with and without a wire, and one handler
// in every style.
package kit
