package internal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

func TestTextThatIsNotUTF8IsReplaced(t *testing.T) {
	for _, broken := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "ok\x80ok"} {
		var ours, theirs string
		require.NoError(t, json.Unmarshal(jsontext.AppendString(nil, broken), &ours))
		encoded, err := json.Marshal(broken)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &theirs))
		require.Equal(t, theirs, ours)
	}
}

func TestReaderTakesOneSpelling(t *testing.T) {
	const good = `{"v":1,"text":"a","list":[{"first":"b","raw":{"x":[1,"]"]}}]}`
	read := func(text string) bool {
		r, v := jsontext.Open([]byte(text), "v")
		r.Text("text")
		if r.List("list") {
			for i := 0; r.Object(i); i++ {
				r.First("first")
				r.Raw("raw")
				r.EndObject()
			}
		}
		return r.End() && v == 1
	}
	require.True(t, read(good))
	for explanation, text := range map[string]string{
		"nothing":                    ``,
		"something behind it":        good + " ",
		"cut":                        good[:len(good)-1],
		"white space":                strings.Replace(good, `,"text"`, `, "text"`, 1),
		"another first member":       strings.Replace(good, `"v"`, `"w"`, 1),
		"a number written otherwise": strings.Replace(good, `1`, `01`, 1),
		"an escape not needed":       strings.Replace(good, `"a"`, `"\u0061"`, 1),
		"an empty text":              strings.Replace(good, `"a"`, `""`, 1),
		"an empty list":              `{"v":1,"text":"a","list":[]}`,
		"an unknown member":          `{"v":1,"text":"a","more":1}`,
		"members in another order":   `{"v":1,"list":[{"first":"b"}],"text":"a"}`,
		"a comma too many":           strings.Replace(good, `[{`, `[,{`, 1),
		"a value without an end":     `{"v":1,"list":[{"first":"b","raw":{`,
	} {
		require.False(t, read(text), explanation)
	}
}
