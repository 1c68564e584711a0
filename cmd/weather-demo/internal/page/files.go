package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed web
var web embed.FS

// file is one embedded file, with its route.
type file struct {
	route   string
	name    string
	content []byte
	etag    string
}

// embedded lists the page's files: the HTML at the root, the rest under /page/.
func embedded() ([]file, error) {
	var files []file
	err := fs.WalkDir(web, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		content = lean(path.Base(name), content)
		sum := sha256.Sum256(content)
		f := file{route: "/page/" + path.Base(name), name: name, content: content, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		if path.Base(name) == "index.html" {
			f.route = "/{$}"
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// lean leaves out what only a reader of the repository needs: comments that have
// lines of their own, and indentation. Every line keeps its number, so that an
// error in a browser points into the file here. The client module is there to be
// read, and is served as it is.
func lean(name string, content []byte) []byte {
	if name == "client.js" || path.Ext(name) != ".js" && path.Ext(name) != ".css" {
		return content
	}
	lines := strings.Split(string(content), "\n")
	inComment := false
	for i, line := range lines {
		line = strings.TrimLeft(line, "\t ")
		inComment = inComment || strings.HasPrefix(line, "/*")
		if lines[i] = line; inComment || strings.HasPrefix(line, "//") {
			lines[i] = ""
		}
		inComment = inComment && !strings.HasSuffix(line, "*/")
	}
	return []byte(strings.Join(lines, "\n"))
}

func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", f.etag)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Type", contentTypes[path.Ext(f.name)])
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.content))
}

// contentTypes are stated here because a machine's own table may say otherwise,
// and a module of another type does not load.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// policy lets the page load its own files and talk to its own server. There is
// no inline script, no inline style, no frame, no form that leaves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
}
