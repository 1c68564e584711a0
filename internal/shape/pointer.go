package shape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// A step leads from a value to a member or an item of it.
type step struct {
	name   string
	index  int
	member bool // name counts, else index
}

const maxPointerToken = 64

// Pointer is the JSON pointer to a member.
func Pointer(member string) string { return pointerTo([]step{{name: member, member: true}}) }

// pointerTo is a JSON pointer that is fit for a model to read. The names in it may
// come from the caller: a long one is cut, and a character that moves the cursor,
// ends the line or turns the direction of writing becomes an escape.
func pointerTo(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.member {
			writeToken(&b, s.name)
		} else {
			b.WriteString(strconv.Itoa(s.index))
		}
	}
	return b.String()
}

func writeToken(b *strings.Builder, name string) {
	n := 0
	for _, r := range name {
		if n++; n > maxPointerToken {
			b.WriteString("...")
			return
		}
		switch {
		case r == '~':
			b.WriteString("~0")
		case r == '/':
			b.WriteString("~1")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
}
