package mrtr

// TakeForwarded is what a runtime does with a message of another one.
func TakeForwarded(rt *Runtime) func(message []byte) []byte { return rt.takeForwarded }
