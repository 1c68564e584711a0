package statecodec

// Binding is the request that a token belongs to. A token opens for an equal
// binding only; an empty field is a value like any other.
type Binding struct {
	// Method and Target identify the call: "tools/call", "weather_native".
	Method, Target string
	// Arguments is the raw JSON of the arguments. It is compared by value:
	// order of members, white space, the spelling of numbers and escapes in
	// strings do not matter; any other difference does, and numbers are never
	// rounded. Absent arguments (no bytes at all) equal {}, as they do for a
	// server; null differs from both. -0 equals 0.
	//
	// Some values are refused, because JSON readers disagree on their meaning:
	// an object with the same name twice or with two names that differ in case
	// only (encoding/json takes them for one field), text that is not UTF-8 or has half a
	// surrogate pair, exponents beyond nine digits, and nesting deeper than 128.
	Arguments []byte
	// Principal is the caller, Audience the server or fleet that is called,
	// Session the transport session, if there is one.
	Principal, Audience, Session string
}

// appendTo appends the binding as the MAC covers it. Every field has its length
// before it; the arguments end at a zero byte, which their canonical form cannot
// contain.
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
