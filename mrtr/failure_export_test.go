package mrtr

// Failures is an error of an effect as it is first returned, and as a replay meets
// it.
func Failures(err error) (first, replayed error) {
	f := failureOf(err)
	again, e := readFailure(f.encode())
	if e != nil {
		panic(e)
	}
	return f.meet(), again.meet()
}
