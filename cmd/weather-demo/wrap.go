package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// lineWidth is the widest line that any command prints, compare excepted.
const lineWidth = 80

// wrap breaks a text into lines of at most width runes, between words where
// possible. It returns at least one line.
func wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
			for utf8.RuneCountInString(line) > width {
				r := []rune(line)
				lines, line = append(lines, string(r[:width])), string(r[width:])
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func shorten(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
