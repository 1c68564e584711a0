package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxPage bounds the page as a browser gets it: all of it, and
// uncompressed.
const maxPage = 130_000

func TestThePageIsSmallAndPutsNoTextInAsHTML(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|https?://[^w]`)
	files, err := embedded()
	require.NoError(t, err)
	total := 0
	for _, f := range files {
		total += len(f.content)
		content, err := web.ReadFile(f.name)
		require.NoError(t, err)
		require.Contains(t, contentTypes, path.Ext(f.name))
		require.Empty(t, forbidden.FindAllString(string(content), -1), f.name)
		require.Equal(t, strings.Count(string(content), "\n"), strings.Count(string(f.content), "\n"), "lines of %s", f.name)
		for i, line := range strings.Split(string(content), "\n") {
			require.Zero(t, strings.Count(line, "`")%2, "%s:%d: a text over several lines would lose its indentation", f.name, i+1)
		}
		if path.Ext(f.name) == ".html" {
			require.NotRegexp(t, `(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`, string(content), "the policy forbids it")
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

func TestFilesComeWithAPolicyAndAnETag(t *testing.T) {
	s := serve(t, nil)
	for file, mime := range map[string]string{"/": "text/html", "/page/app.js": "text/javascript", "/page/style.css": "text/css", "/page/envelope.svg": "image/svg+xml"} {
		status, body, header := s.do("GET", file, "")
		require.Equal(t, http.StatusOK, status, file)
		require.NotEmpty(t, body)
		require.Contains(t, header.Get("Content-Type"), mime)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self';")
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")
		status, _, _ = s.do("GET", file, "", "If-None-Match", header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, status, file)
	}
	status, _, _ := s.do("GET", "/page/nothing.js", "")
	require.Equal(t, http.StatusNotFound, status)
}

func TestFilesComeCompressed(t *testing.T) {
	s := serve(t, nil)
	_, _, header := s.do("GET", "/", "")
	modules := regexp.MustCompile(`<(page/\w+\.js)>; rel=modulepreload`).FindAllStringSubmatch(header.Get("Link"), -1)
	require.Greater(t, len(modules), 15, "what the HTML's scripts need is named with it")
	for _, m := range modules {
		_, plain, header := s.do("GET", "/"+m[1], "", "Accept-Encoding", "identity, gzip;q=0")
		require.Empty(t, header.Get("Content-Encoding"))
		require.Equal(t, "Accept-Encoding", header.Get("Vary"))
		_, packed, packedHeader := s.do("GET", "/"+m[1], "", "Accept-Encoding", "br, gzip;q=0.5")
		require.Equal(t, "gzip", packedHeader.Get("Content-Encoding"))
		require.NotEqual(t, header.Get("ETag"), packedHeader.Get("ETag"), "they are other bytes")
		r, err := gzip.NewReader(strings.NewReader(packed))
		require.NoError(t, err)
		unpacked, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, plain, string(unpacked))
	}
}

func TestTheHTMLNamesNothingByAnAbsolutePath(t *testing.T) {
	html, err := web.ReadFile("web/index.html")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(string(html), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.NotRegexp(t, `^/|^https?:`, name[1], "it would not be found behind another path")
	}
}

func TestAFileLessBinaryServesThePage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	status, body, _ := serve(t, nil).do("GET", "/page/client.js", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "export class Client")
}
