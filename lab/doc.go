// Package lab is the module of what only this project runs: nothing in it is imported by the
// library, and nobody who uses the library downloads it. CONTRIBUTING.md says what each
// folder does.
package lab
