package statecodec

// Binding is the request that a token belongs to. A token opens for an equal
// binding only; an empty field is a value like any other.
type Binding struct {
	// Method and Target say what was called: "tools/call", "weather_native".
	Method, Target string
	// Arguments is the raw JSON of the arguments. It is compared by value:
	// order of members, white space, the spelling of numbers and escapes in
	// strings do not matter; any other difference does, and numbers are never
	// rounded. Absent (no bytes at all) is the same as {}, as it is to a
	// server; null is a value of its own. -0 equals 0.
	//
	// Refused, because readers disagree on what they mean: an object with the
	// same name twice, text that is not UTF-8 or has half a surrogate pair,
	// exponents beyond nine digits, and nesting deeper than 128.
	Arguments []byte
	// Principal is who calls; Audience is the server, or fleet, called;
	// Session is the transport session, where there is one.
	Principal, Audience, Session string
}

// appendTo appends the binding in the one form that a MAC covers. Every field
// ends where its length says. The arguments end at a zero byte, which their
// canonical form cannot contain.
func (b *Binding) appendTo(w *scratch) error {
	w.buf = appendField(w.buf[:0], b.Method)
	w.buf = appendField(w.buf, b.Target)
	w.buf = appendField(w.buf, b.Principal)
	w.buf = appendField(w.buf, b.Audience)
	w.buf = appendField(w.buf, b.Session)
	if err := w.appendArguments(b.Arguments); err != nil {
		return err
	}
	w.buf = append(w.buf, 0)
	return nil
}
