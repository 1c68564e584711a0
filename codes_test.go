package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The codes that JSON-RPC and the Model Context Protocol define for the purposes that
// we use them for. All others between -32768 and -32000 are theirs to define.
var definedCodes = map[int]string{
	-32700: "parse error", -32600: "invalid request", -32601: "method not found", -32602: "invalid params", -32603: "internal error",
	-32020: "the headers of an HTTP request do not fit its body", -32021: "a client capability is missing", -32022: "the protocol version is not supported",
}

// codesThatAreNotOurs are reserved codes that our programs contain and do not choose.
var codesThatAreNotOurs = map[string]map[int]string{
	"boundary/protocol.go":                    {-32002: "go-sdk's code for an unknown resource, which is replaced"},
	"boundary/internal/misbehaving/errors.go": {-32000: "the code of a tool that misbehaves"},
	"mcphttp/leanconn.go":                     {-32005: "go-sdk's code for a message that its transport does not send, which stays in the process"},
	"prove/rules_result.go": {
		-32002: "a code that a server is condemned for", -32042: "a code that a server is condemned for",
		-32099: "the end of the range in which a server is condemned",
	},
}

// An error code of our own lies outside the range that the protocols reserve.
func TestNoCodeOfOursIsReserved(t *testing.T) {
	type place struct {
		path string
		code int
	}
	files, found := 0, map[place]bool{}
	check := func(path string, code int) {
		if code < -32768 || code > -32000 {
			return
		}
		found[place{path, code}] = true
		if definedCodes[code] == "" && codesThatAreNotOurs[path][code] == "" {
			t.Errorf("%s: the code %d is reserved: take one above -32000, or give the reason here", path, code)
		}
	}
	number := regexp.MustCompile(`-32\d{3}\b`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			files++
			return negatives(path, check)
		case ".js", ".mjs", ".ts", ".html":
			text, err := os.ReadFile(path)
			for _, digits := range number.FindAllString(string(text), -1) {
				code, _ := strconv.Atoi(digits)
				check(path, code)
			}
			return err
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 100)
	for path, codes := range codesThatAreNotOurs {
		for code := range codes {
			require.True(t, found[place{path, code}], "%s does not contain %d any more", path, code)
		}
	}
}

// negatives are the negative whole numbers in a Go file, written in any base.
func negatives(path string, check func(path string, code int)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		minus, ok := n.(*ast.UnaryExpr)
		if !ok || minus.Op != token.SUB {
			return true
		}
		if literal, ok := minus.X.(*ast.BasicLit); ok && literal.Kind == token.INT {
			if value, err := strconv.ParseInt(literal.Value, 0, 64); err == nil {
				check(filepath.ToSlash(path), int(-value))
			}
		}
		return true
	})
	return nil
}
