// Package plaintext is internal/plaintext, by the name that the engine knows it by.
package plaintext

import "github.com/mrtr-go/sdk/internal/plaintext"

// Text makes a text of an author's safe to show.
func Text(s string) string { return plaintext.Text(s) }

// Steers reports whether [Text] spells a character out.
func Steers(r rune) bool { return plaintext.Steers(r) }

// Quote quotes a text of anybody's.
func Quote(s string, most int) string { return plaintext.Quote(s, most) }
