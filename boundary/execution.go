package boundary

// Execution says that something the tool did went wrong. Err is for the log
// alone: the text that a client reads is Message, or that the operation failed.
type Execution struct {
	Operation string // what was being done, such as "geocode"
	Message   string // for the agent; optional
	Err       error  // the cause; never leaves the server
	Code      string // the author's own code; optional
	Expected  bool   // the agent can correct it; otherwise it is a fault
	Retryable bool   // the same call may succeed when run again
	Effect    string // "applied" or "unknown"; optional
	Hints     []string
}

func (e *Execution) Error() string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Operation != "":
		return e.Operation + " failed."
	}
	return "The tool failed."
}

func (e *Execution) Unwrap() error              { return e.Err }
func (e *Execution) ToolErrorType() string      { return "execution" }
func (e *Execution) ToolErrorCode() string      { return e.Code }
func (e *Execution) ToolErrorExpected() bool    { return e.Expected }
func (e *Execution) ToolErrorRetryable() bool   { return e.Retryable }
func (e *Execution) ToolErrorEffect() string    { return e.Effect }
func (e *Execution) ToolErrorOperation() string { return e.Operation }
func (e *Execution) ToolErrorHints() []string   { return e.Hints }
