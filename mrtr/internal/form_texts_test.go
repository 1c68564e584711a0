package internal_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

const parcelForm = `{"type":"object","title":"Parcel","properties":{
	"to":{"type":"string","description":"the address","minLength":2,"format":"email"},
	"floor":{"type":"integer","minimum":-2,"maximum":99,"default":1},
	"weight":{"type":"number","description":"in kg"},
	"gift":{"type":"boolean","title":"A gift?","default":true},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large, or XL"},{"const":"Small","title":"x"}]},
	"extras":{"type":"array","minItems":1,"uniqueItems":true,"items":{"anyOf":[{"const":"ice","title":"Ice, dry"},{"const":"dry","title":"Dry"},{"const":"a,b","title":"Both"}]},"default":["ice","dry"]}},
	"required":["to","floor"],"minProperties":1}`

// The form that is sent has texts alone, in the order of the form, and tells what to write.
func TestAFormInTexts(t *testing.T) {
	sent, err := form.OfTexts(json.RawMessage(parcelForm))
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{`+
		`"to":{"type":"string","description":"the address","format":"email","minLength":2},`+
		`"floor":{"type":"string","description":"a whole number, at least -2, at most 99","default":"1"},`+
		`"weight":{"type":"string","description":"in kg (a number)"},`+
		`"gift":{"type":"string","title":"A gift?","description":"yes or no","default":"yes"},`+
		`"size":{"type":"string","description":"one of: Small; Large, or XL; x"},`+
		`"extras":{"type":"string","description":"any of these, with commas between them: Ice, dry; Dry; Both, at least 1","default":"ice, dry"}},`+
		`"required":["to","floor"]}`, string(sent))
	_, err = form.Of(sent)
	require.NoError(t, err, "it is a form")
}

// accepted is the answer that a form makes of texts, or the note if it refuses them.
func accepted(t testing.TB, schema string, texts map[string]any) string {
	t.Helper()
	values, err := form.FromTexts(json.RawMessage(schema), texts, limit)
	require.NoError(t, err)
	f, err := form.Of(json.RawMessage(schema))
	require.NoError(t, err)
	answer, err := f.Accept(values, limit)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}

func TestTextsAreRead(t *testing.T) {
	for _, test := range []struct{ property, text, want string }{
		{"floor", " 3 ", `3`}, {"floor", "+7", `7`}, {"floor", "3.0", `3`}, {"floor", "-0", `0`},
		{"floor", "3.5", ""}, {"floor", "100", ""}, {"floor", "three", ""}, {"floor", "0x10", ""}, {"floor", "1_0", ""}, {"floor", "", ""},
		{"weight", "2.50", `2.5`}, {"weight", "1e3", `1000`}, {"weight", "1e999", ""}, {"weight", "NaN", ""}, {"weight", "Inf", ""}, {"weight", "1,5", ""},
		{"gift", "yes", `true`}, {"gift", "True", `true`}, {"gift", "NO", `false`}, {"gift", "false", `false`}, {"gift", "maybe", ""},
		{"size", "s", `"s"`}, {"size", "Small", `"Small"`}, {"size", "small", ""}, {"size", "large, or xl", `"l"`}, {"size", "X", `"Small"`}, {"size", "medium", ""},
		{"extras", "dry", `["dry"]`}, {"extras", "Dry, ice", `["dry","ice"]`}, {"extras", "Ice, dry", `["ice"]`}, {"extras", "ice, dry", `["ice","dry"]`},
		{"extras", "a,b,dry", `["a,b","dry"]`}, {"extras", "dry,dry", ""}, {"extras", "dry,", ""}, {"extras", "dry, wet", ""},
	} {
		texts := map[string]any{"to": "a@example.org", "floor": "1"}
		texts[test.property] = test.text
		got := accepted(t, parcelForm, texts)
		if test.want == "" {
			require.Contains(t, got, "The answer did not fit: "+test.property+" must be", "%q", test)
			continue
		}
		var answer map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(got), &answer), "%q: %s", test, got)
		require.Equal(t, test.want, string(answer[test.property]), "%q", test)
	}
	empty := map[string]any{"to": "a@example.org", "floor": 2.0, "weight": "", "size": " ", "extras": "", "gift": ""}
	require.Equal(t, `{"floor":2,"to":"a@example.org"}`, accepted(t, parcelForm, empty), "what is left empty is not answered, and a value of the form's own type is one")
	long := accepted(t, parcelForm, map[string]any{"to": "a@example.org", "floor": strings.Repeat("1", limit+1)})
	require.Contains(t, long, "did not fit")
}

// asText writes a value as a person would.
func asText(v any) string {
	switch v := v.(type) {
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, fmt.Sprint(item))
		}
		return strings.Join(items, " , ")
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// A form asked by texts gives the answer that it gives by itself, byte for byte.
func FuzzTexts(f *testing.F) {
	f.Add("a@example.org", 3.0, 2.5, true, uint8(1), uint8(5))
	f.Add("b@example.org", 98.0, -1e-7, false, uint8(0), uint8(0))
	f.Add("b@example.org", 3.5, 1e300, false, uint8(2), uint8(2))
	f.Add("no address", 1e17, 0.1, true, uint8(9), uint8(7))
	f.Fuzz(func(t *testing.T, to string, floor, weight float64, gift bool, size, extras uint8) {
		if floor-floor != 0 || weight-weight != 0 {
			t.Skip("JSON has no such number")
		}
		content := map[string]any{"to": to, "floor": floor, "weight": weight, "gift": gift, "size": []string{"s", "l", "Small", "none"}[size%4]}
		var list []any
		for i, item := range []string{"dry", "a,b", "none"} {
			if extras>>i&1 == 1 {
				list = append(list, item)
			}
		}
		if list != nil {
			content["extras"] = list
		}
		texts := map[string]any{}
		for name, v := range content {
			texts[name] = asText(v)
		}
		form, err := form.Of(json.RawMessage(parcelForm))
		require.NoError(t, err)
		want, err := form.Accept(content, limit)
		if err != nil {
			want = json.RawMessage(err.Error())
		}
		require.Equal(t, string(want), accepted(t, parcelForm, texts))
	})
}
