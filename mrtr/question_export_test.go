package mrtr

// ForgetTypes puts this process into the place of one that has not made a question
// yet.
func ForgetTypes() {
	selfDecoding.names.Clear()
	selfDecoding.types.Clear()
}
