package form

import (
	"bytes"
	"encoding/json"
)

// short is a text in place of a schema, for the question of one key. To make the one of
// the other costs as much as the rest of a state.
type short struct {
	key  string
	text []byte
}

// Short is the text that stands for the schema in the states of a question, nil where
// [Form.NoteShort] has not been called for its key.
func (f *Form) Short(key string) []byte {
	if s := f.short.Load(); s != nil && s.key == key {
		return s.text
	}
	return nil
}

// NoteShort notes that text, of which it keeps a copy. The first key stays.
func (f *Form) NoteShort(key string, text []byte) {
	if f.short.Load() == nil {
		f.short.CompareAndSwap(nil, &short{key, bytes.Clone(text)})
	}
}

// Long is the schema of a short text, nil where no form is kept that has it. The schema
// is shared.
func Long(key string, text []byte) json.RawMessage {
	kept.RLock()
	defer kept.RUnlock()
	if f := kept.byShort[string(text)]; f != nil && f.short.Load().key == key {
		return f.schema
	}
	return nil
}
