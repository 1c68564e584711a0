package mrtr_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

type person struct {
	Name string `json:"name" title:"Your name" minLength:"2" maxLength:"5" jsonschema:"as on the card"`
}

type reservation struct {
	person
	Email string  `json:"email" format:"email" maxLength:"20"`
	Site  string  `json:"site,omitempty" format:"uri" default:"https://example.org"`
	Day   string  `json:"day" format:"date"`
	Seats int8    `json:"seats" minimum:"1" maximum:"9" default:"2"`
	Rate  float64 `json:"rate,omitempty" minimum:"0.5"`
	Quick bool    `json:"quick,omitempty" default:"true"`
	Class cabin   `json:"class,omitempty" title:"Class" default:"first"`
	Meals []cabin `json:"meals" minItems:"1" maxItems:"1" default:"second"`
}

func TestTagsSetKeywords(t *testing.T) {
	schema, err := types.Schema(reflect.TypeFor[reservation](), "key")
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{`+
		`"name":{"type":"string","description":"as on the card","title":"Your name","minLength":2,"maxLength":5},`+
		`"email":{"type":"string","format":"email","maxLength":20},`+
		`"site":{"type":"string","format":"uri","default":"https://example.org"},`+
		`"day":{"type":"string","format":"date"},`+
		`"seats":{"type":"integer","minimum":1,"maximum":9,"default":2},`+
		`"rate":{"type":"number","minimum":0.5},`+
		`"quick":{"type":"boolean","default":true},`+
		`"class":{"type":"string","enum":["first","second"],"title":"Class","default":"first"},`+
		`"meals":{"type":"array","items":{"type":"string","enum":["first","second"]},"uniqueItems":true,"maxItems":1,"minItems":1,"default":["second"]}`+
		`},"required":["name","email","day","seats","meals"]}`, string(schema))

	f, err := form.Of(schema)
	require.NoError(t, err)
	good := map[string]any{"name": "Åsa", "email": "a@example.org", "day": "2026-07-28", "seats": 1.0, "meals": []any{"first"}}
	answer, err := f.Accept(good, limit)
	require.NoError(t, err)
	read, err := form.Decode[reservation](answer, "")
	require.NoError(t, err)
	require.Equal(t, "Åsa", read.Name, "the field of an embedded struct")

	for _, test := range []struct {
		property string
		wrong    any
		note     string
	}{
		{"name", "Å", "name must be of type string, at least 2 long, at most 5 long"},
		{"name", "Åsaaaa", "name must be of type string, at least 2 long, at most 5 long"},
		{"email", "Ann <a@example.org>", "email must be a string in the format email, at most 20 long"},
		{"email", strings.Repeat("a", 20) + "@example.org", "email must be a string in the format email, at most 20 long"},
		{"site", "example.org", "site must be a string in the format uri"},
		{"day", "28.07.2026", "day must be a string in the format date"},
		{"seats", 0.0, "seats must be of type integer, at least 1, at most 9"},
		{"seats", 10.0, "seats must be of type integer, at least 1, at most 9"},
		{"rate", 0.4, "rate must be of type number, at least 0.5"},
		{"meals", []any{}, "meals must be a list of the choices, at least 1, at most 1"},
		{"meals", []any{"first", "second"}, "meals must be a list of the choices, at least 1, at most 1"},
	} {
		content := map[string]any{test.property: test.wrong}
		for name, v := range good {
			if name != test.property {
				content[name] = v
			}
		}
		_, err := f.Accept(content, limit)
		require.EqualError(t, err, "The answer did not fit: "+test.note+".")
	}
}

func TestTagsThatCannotWork(t *testing.T) {
	for explanation, wrong := range map[string]struct {
		of   any
		says string
	}{
		"a length of a number": {struct {
			N int `minLength:"1"`
		}{}, "does not go with its type"},
		"a bound of a string": {struct {
			S string `minimum:"1"`
		}{}, "does not go with its type"},
		"a length of an enum": {struct {
			C cabin `maxLength:"3"`
		}{}, "does not go with its type"},
		"a bound that is no number": {struct {
			N int `minimum:"one"`
		}{}, "cannot be read"},
		"a negative length": {struct {
			S string `minLength:"-1"`
		}{}, "cannot be read"},
		"an empty title": {struct {
			S string `title:""`
		}{}, "cannot be read"},
		"a bound beyond the type": {struct {
			N int8 `maximum:"200"`
		}{}, "allows what its type cannot hold"},
		"a bound below an unsigned type": {struct {
			N uint `minimum:"-1"`
		}{}, "allows what its type cannot hold"},
		"more items than choices": {struct {
			L []cabin `maxItems:"3"`
		}{}, "allows what its type cannot hold"},
		"a format of a time": {struct {
			T time.Time `format:"date"`
		}{}, `a day is a string with the tag format:"date"`},
		"a length of a time": {struct {
			T time.Time `maxLength:"10"`
		}{}, "a time.Time is an instant"},
		"another spelling": {struct {
			S string `minlength:"1"`
		}{}, "it is spelled minLength"},
		"a pattern": {struct {
			S string `pattern:"a+"`
		}{}, "a form has no patterns"},
		"two embedded structs, one name": {struct {
			person
			Name string `json:"name"`
		}{}, `two fields are named "name"`},
		"an embedded time": {struct{ time.Time }{}, "would decode the whole answer"},
	} {
		_, err := types.Schema(reflect.TypeOf(wrong.of), "key")
		require.ErrorContains(t, err, wrong.says, explanation)
	}
	for explanation, wrong := range map[string]struct {
		of   any
		says string
	}{
		"a default that is too long": {struct {
			S string `maxLength:"2" default:"abc"`
		}{}, "its default does not fit"},
		"a default that is no choice": {struct {
			C cabin `default:"third"`
		}{}, "its default does not fit"},
		"limits that exclude another": {struct {
			S string `minLength:"3" maxLength:"2"`
		}{}, "let nothing through"},
		"bounds that exclude another": {struct {
			N int `minimum:"3" maximum:"2"`
		}{}, "let nothing through"},
		"more items than there can be": {struct {
			L []cabin `minItems:"3"`
		}{}, "let nothing through"},
		"a format nobody allows": {struct {
			S string `format:"ipv4"`
		}{}, "is not one a form may use"},
	} {
		schema, err := types.Schema(reflect.TypeOf(wrong.of), "key")
		require.NoError(t, err, explanation)
		_, err = form.Of(schema)
		require.ErrorContains(t, err, wrong.says, explanation)
	}
}

func TestPrefill(t *testing.T) {
	filled, err := form.Prefill(json.RawMessage(tripForm), json.RawMessage(`{"to":"Oslo","when":"0001-01-01T00:00:00Z","class":"second"}`))
	require.NoError(t, err)
	want := strings.Replace(tripForm, `"to":{"type":"string"}`, `"to":{"type":"string","default":"Oslo"}`, 1)
	want = strings.Replace(want, `"enum":["first","second"]},"seats"`, `"enum":["first","second"],"default":"second"},"seats"`, 1)
	require.Equal(t, want, string(filled), "in place, and what is empty stays so")
	_, err = form.Prefill(json.RawMessage(tripForm), json.RawMessage(`{"from":"Oslo"}`))
	require.ErrorContains(t, err, `no property "from"`)
}
