package form

import (
	"encoding/json"
	"testing"
)

// BenchmarkAnswer judges an answer by a form that was read once, as the engine
// does, and by one that is read for each answer.
func BenchmarkAnswer(b *testing.B) {
	for name, answer := range map[string]struct {
		schema  string
		content map[string]any
	}{
		"choice": {`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`,
			map[string]any{"units": "metric"}},
		"form": {`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"]}`,
			map[string]any{"name": "Ada", "age": 36.0}},
	} {
		judge := func(b *testing.B, form *Form, err error) {
			if err == nil {
				_, err = form.Accept(answer.content, 16<<10)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		schema := json.RawMessage(answer.schema)
		b.Run(name+"/resolved once", func(b *testing.B) {
			form, err := Of(schema)
			judge(b, form, err)
			Keep(schema, form)
			b.ReportAllocs()
			for b.Loop() {
				form, err := Of(schema)
				judge(b, form, err)
			}
		})
		b.Run(name+"/resolved each time", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				form, err := read(schema)
				judge(b, form, err)
			}
		})
	}
}
