package callerror

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"io/fs"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// sentinels are those that no type tells from others.
var sentinels = []error{
	context.Canceled, context.DeadlineExceeded,
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, io.ErrNoProgress, io.ErrShortWrite,
	fs.ErrInvalid, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, fs.ErrClosed,
	sql.ErrNoRows, sql.ErrTxDone, sql.ErrConnDone, driver.ErrBadConn, driver.ErrSkip, driver.ErrRemoveArgument,
	http.ErrServerClosed, http.ErrHandlerTimeout, http.ErrBodyReadAfterClose, http.ErrLineTooLong, http.ErrUseLastResponse,
}

// packages have error types of their own.
var packages = []string{"net", "os", "io/fs", "syscall", "internal/poll", "crypto", "database/sql"}

// A Reading is what an error's chain holds of a tool's dependencies: the network, files, a
// database, a context. Their errors name hosts, paths and queries, so their texts are for the
// log. An author who has something to tell the client types the error: one with
// ToolErrorType, ToolErrorExpected, ToolErrorQuiet or ToolErrorProtocol speaks for all that it
// wraps.
type Reading struct {
	Found bool   `json:"found,omitempty"` // an error of a dependency
	Typed bool   `json:"typed,omitempty"` // a typed error
	Says  string `json:"says,omitempty"`  // the text of the outermost typed error
	Added string `json:"added,omitempty"` // what a wrapper with ToolErrorEffect adds to a text, such as not to call again
}

// A Reader is an error that was read before, and has no chain any more.
type Reader interface{ DependencyReading() Reading }

const maxChain = 1000

// ReadingOf reads an error.
func ReadingOf(err error) (r Reading) {
	seen := 0
	var walk func(error)
	walk = func(err error) {
		if seen++; seen > maxChain {
			return
		}
		switch e := err.(type) {
		case Type, Expected, Quiet, Protocol:
			r.add(Reading{Typed: true, Says: err.Error()})
			return
		case Reader:
			r.add(e.DependencyReading())
			return
		}
		r.Found = r.Found || is(err)
		_, reports := err.(Effect)
		for _, inner := range Unwrapped(err) {
			if added, ok := strings.CutPrefix(err.Error(), inner.Error()); ok && reports {
				r.add(Reading{Added: strings.TrimPrefix(added, ".")})
			}
			walk(inner)
		}
	}
	walk(err)
	return r
}

// add takes over what was not known yet: the outermost counts.
func (r *Reading) add(inner Reading) {
	if inner.Typed && !r.Typed {
		r.Typed, r.Says = true, inner.Says
	}
	if r.Added == "" {
		r.Added = inner.Added
	}
	r.Found = r.Found || inner.Found
}

// Text is the text that a client may read in place of the error's own: a typed error's, or
// the sentence.
func (r Reading) Text(sentence string) string {
	if r.Typed {
		sentence = r.Says
	}
	return sentence + r.Added
}

func is(err error) bool {
	switch err.(type) {
	case net.Error, interface{ SQLState() string }:
		return true
	}
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if slices.ContainsFunc(packages, func(pkg string) bool {
		return t.PkgPath() == pkg || strings.HasPrefix(t.PkgPath(), pkg+"/")
	}) {
		return true
	}
	return t.Comparable() && slices.Contains(sentinels, err)
}

// Unwrapped are the errors that an error wraps.
func Unwrapped(err error) []error {
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			return []error{inner}
		}
	case interface{ Unwrap() []error }:
		return slices.DeleteFunc(slices.Clone(u.Unwrap()), func(err error) bool { return err == nil })
	}
	return nil
}
