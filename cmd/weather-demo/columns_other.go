//go:build !linux && !darwin

package main

import "io"

// columns is how wide the terminal behind w is, 0 if that is not known.
func columns(io.Writer) int { return 0 }
