package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mrtr-go/sdk/prove"
)

// writeAnnotations prints one workflow command of GitHub for each failure: an error where it
// decides, a warning where it does not.
func (r *report) writeAnnotations(w io.Writer) error {
	annotate := func(kind, title, text string) error {
		properties := "title=" + escaped(title, ":", ",")
		if r.file != "" {
			properties = "file=" + escaped(r.file, ":", ",") + "," + properties
		}
		_, err := fmt.Fprintf(w, "::%s %s::%s\n", kind, properties, escaped(text))
		return err
	}
	if r.Error != "" {
		if err := annotate("error", "mrtr prove", r.Error); err != nil {
			return err
		}
	}
	for _, one := range r.Reports {
		for _, f := range one.Findings {
			kind := "warning"
			switch {
			case f.Outcome != prove.Fail:
				continue
			case r.decides(f):
				kind = "error"
			}
			if err := annotate(kind, place(one)+": "+f.Rule.Name+" ("+string(f.Rule.Level)+")", f.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// escaped keeps a server's text from being a command of its own.
func escaped(text string, more ...string) string {
	for _, special := range append([]string{"%", "\r", "\n"}, more...) {
		text = strings.ReplaceAll(text, special, fmt.Sprintf("%%%02X", special[0]))
	}
	return text
}
