package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
)

func TestEveryStyleHasASource(t *testing.T) {
	require.NotEmpty(t, weather.Styles())
	for _, o := range weather.Styles() {
		src, err := sourceOf(o)
		require.NoError(t, err)
		require.Contains(t, src.doc, o.Letter+":", "%s has a doc comment", src.title)
		require.Equal(t, "func New(rt *mrtr.Runtime, audit *Audit) Handler {", src.code[0], src.title)
		code := strings.Join(src.code, "\n")
		require.Contains(t, code, "\nfunc handler(audit *Audit) ", "%s shows its handler in full", src.title)
		require.NotContains(t, code, "options.", src.title)
	}
}
