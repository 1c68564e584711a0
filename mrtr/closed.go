package mrtr

// Closed ends a call of linear code that runs, or would begin, when its
// runtime is closed.
type Closed struct{}

func (e *Closed) Error() string {
	return "Stopped: this server is shutting down. Call the tool again."
}

// ToolErrorType names the error for agents.
func (e *Closed) ToolErrorType() string { return "shutting_down" }

// ToolErrorExpected is true: calling again is the cure.
func (e *Closed) ToolErrorExpected() bool { return true }
