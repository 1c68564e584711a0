package boundary

// Execution is the error of an operation that failed. The client reads Message, or
// that Operation failed; the log has Err too.
type Execution struct {
	Operation string // such as "geocode"
	Message   string // for the client; optional
	Err       error  // the cause, for the log alone
	Code      string // a code of your own; optional
	Expected  bool   // the agent can correct it; false for a fault
	Retryable bool   // running the same call again may succeed
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
