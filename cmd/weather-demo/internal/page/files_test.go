package page

import (
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxPage bounds the page's files, in bytes. A tenth of it is types and the formatter's lines.
const maxPage = 174_000

func TestThePageIsSmallAndPutsNoTextInAsHTML(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|https?://[^w]`)
	files, err := web.ReadDir("web")
	require.NoError(t, err)
	total := 0
	for _, f := range files {
		content, err := web.ReadFile("web/" + f.Name())
		require.NoError(t, err)
		total += len(content)
		require.Empty(t, forbidden.FindAllString(string(content), -1), f.Name())
		if path.Ext(f.Name()) == ".html" {
			require.NotRegexp(t, `(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`, string(content), "the policy forbids it")
			names := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(string(content), -1)
			require.NotEmpty(t, names)
			for _, name := range names {
				require.NotRegexp(t, `^/|^https?:`, name[1], "it would not be found below another path")
			}
		}
	}
	require.Greater(t, total, 60_000, "the page was not found")
	require.LessOrEqual(t, total, maxPage)
}

func TestTheClientModuleStandsAlone(t *testing.T) {
	content, err := web.ReadFile("web/client.js")
	require.NoError(t, err)
	require.NotContains(t, string(content), "import ", "it is there to be copied")
	require.LessOrEqual(t, strings.Count(string(content), "\n"), 200)
}

// The files come out of the binary, each with its type and the policy.
func TestFilesComeWithAPolicy(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	s := serve(t)
	for file, mime := range map[string]string{"/": "text/html", "/page/app.js": "text/javascript", "/page/style.css": "text/css", "/page/envelope.svg": "image/svg+xml"} {
		status, body, header := s.do("GET", file, "")
		require.Equal(t, http.StatusOK, status, file)
		require.NotEmpty(t, body)
		require.Contains(t, header.Get("Content-Type"), mime)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self';")
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")
	}
	status, _, _ := s.do("GET", "/page/nothing.js", "")
	require.Equal(t, http.StatusNotFound, status)
}
