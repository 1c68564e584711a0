package boundary

import (
	"fmt"
	"unicode/utf8"
)

const (
	maxLoggedTool = 128
	maxLoggedText = 4 << 10
)

// loggedTool is the name of the tool as the log has it. A client may call any
// name, of any length.
func (c *call) loggedTool() string { return clipped(c.tool, maxLoggedTool) }

// clipped is the first n bytes of s, and how many there were if that is not all.
func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > 0 && end > n-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", s[:end], len(s))
}
