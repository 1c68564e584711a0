package mrtr

// TakeForwarded hands a runtime a message of another one.
func TakeForwarded(rt *Runtime) func(message []byte) []byte { return rt.takeForwarded }
