package statecodec_test

// realState is a state as an engine seals it between two rounds: a call's id, a
// pending question in full, an answer and an effect.
const realState = `{"id":"c_7Jm0Qx2vVb3uR9aZ","round":2,"pending":[{"key":"units","message":"Which units?",` +
	`"schema":{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}}],` +
	`"answers":[{"key":"place","digest":"q83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJ","value":"Springfield, Illinois"}],` +
	`"effects":[{"kind":"once","key":"audit","digest":"EjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83v","value":{"line":"looked up Springfield, Illinois"}}],` +
	`"fingerprint":"b1946ac92492d2347c6235b4d2611184","frame":"f_93kd02nd8f7s6d5"}`

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// flipText replaces one character of a token by another of the alphabet.
func flipText(token string, at int) string {
	replacement := "A"
	if token[at] == 'A' {
		replacement = "B"
	}
	return token[:at] + replacement + token[at+1:]
}
