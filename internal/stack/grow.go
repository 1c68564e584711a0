package stack

import "runtime"

// Grow makes room for a Room, an array of bytes, on the stack of a goroutine that has
// next to nothing on it. A stack doubles when it is full, and every frame on it is moved: the
// deeper the call, the more of them.
func Grow[Room any]() { hold[Room](false) }

// hold has a frame with place for a Room, and clears the place only if it is used.
//
//go:noinline
func hold[Room any](used bool) {
	if used {
		var room Room
		runtime.KeepAlive(&room)
	}
}
