package field_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/field"
)

const bits = 8

type ticket struct {
	id, title string
	count     int
	paid      bool
	note      json.RawMessage
	until     time.Time
	seats     []seat
}

type seat struct{ kind, key string }

var kinds = []string{"window", "aisle"}

func (v *ticket) fields(f *field.Coder) {
	f.Token("id", &v.id)
	f.Text("title", &v.title)
	f.Number("count", &v.count)
	f.Flag("paid", &v.paid)
	f.Raw("note", &v.note)
	f.Time("until", &v.until)
	for i := 0; f.Object("seats", i, len(v.seats), bits); i++ {
		if i == len(v.seats) {
			v.seats = append(v.seats, seat{})
		}
		field.First(f, "kind", kinds, &v.seats[i].kind)
		f.Key("key", &v.seats[i].key)
		f.EndObject()
	}
}

func TestBothFormatsComeBack(t *testing.T) {
	tickets := map[string]ticket{
		"a full one": {
			id: "8vJ2", title: "To the sea", count: 3, paid: true, note: json.RawMessage(`{"dog":true}`),
			until: time.UnixMilli(1785240000123), seats: []seat{{"aisle", "4a"}, {"window", "4b"}},
		},
		"an empty one": {until: time.UnixMilli(0)},
	}
	for explanation, want := range tickets {
		t.Run(explanation, func(t *testing.T) {
			w := field.WriteCompact(nil, bits)
			want.fields(&w)
			compact := w.End()
			w = field.WriteLegible(nil)
			want.fields(&w)
			legible := w.End()
			require.True(t, json.Valid(legible), "%s", legible)

			for name, r := range map[string]field.Coder{
				"compact": field.ReadCompact(compact, bits),
				"legible": field.ReadLegible(legible),
			} {
				var got ticket
				got.fields(&r)
				require.True(t, r.Fits(), name)
				require.Equal(t, want, got, name)
			}
			for name, r := range map[string]field.Coder{
				"compact, cut":             field.ReadCompact(compact[:len(compact)-1], bits),
				"compact, extended":        field.ReadCompact(append(compact[:len(compact):len(compact)], 0), bits),
				"legible, cut":             field.ReadLegible(legible[:len(legible)-1]),
				"legible, another version": field.ReadLegible(bytes.Replace(legible, []byte(`"v":1`), []byte(`"v":9`), 1)),
			} {
				var got ticket
				got.fields(&r)
				require.False(t, r.Fits(), name)
			}
		})
	}
}
