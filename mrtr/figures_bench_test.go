package mrtr

import (
	"encoding/json"
	"testing"
)

// BenchmarkAnswer is an answer judged with its schema resolved once, as the
// engine does it, and with the schema read and resolved for each answer.
func BenchmarkAnswer(b *testing.B) {
	type traveller struct {
		Name string `json:"name"`
		Age  int    `json:"age"`
	}
	for name, answer := range map[string]struct {
		schema  json.RawMessage
		content map[string]any
	}{
		"choice": {Choose("units", "Which units?", Choices("metric", "imperial")...).spec.schema, map[string]any{"units": "metric"}},
		"form":   {Elicit[traveller]("traveller", "Who travels?").spec.schema, map[string]any{"name": "Ada", "age": 36.0}},
	} {
		judge := func(b *testing.B, form *compiledForm, err error) {
			if err == nil {
				_, err = form.accept(answer.content)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name+"/resolved once", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				form, err := formOf(answer.schema)
				judge(b, form, err)
			}
		})
		b.Run(name+"/resolved each time", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				form, err := compileForm(answer.schema)
				judge(b, form, err)
			}
		})
	}
}
