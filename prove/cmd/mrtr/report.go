package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/mrtr-go/sdk/prove"
)

// report is what a run came to. Every format shows this and no more.
type report struct {
	Tool     tool          `json:"tool"`
	Revision string        `json:"revision"` // of the specification
	Summary  summary       `json:"summary"`
	Error    string        `json:"error,omitempty"` // why nothing, or not all, could be proved
	Reports  prove.Reports `json:"reports"`

	level prove.Level // of the weakest rule that decides
	file  string      // that a failure is shown at, if any
}

type tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// summary counts findings. Failed are those that decide the exit status.
type summary struct {
	Tried   int         `json:"tried"`
	Failed  int         `json:"failed"`
	Weaker  int         `json:"failedWithoutDeciding"`
	Noted   int         `json:"noted"`
	Skipped int         `json:"skipped"`
	Calls   int         `json:"calls"`
	Level   prove.Level `json:"level"`
}

const (
	revision = "2026-07-28"
	homepage = "https://github.com/mrtr-go/sdk"
)

func newReport(reports prove.Reports, level prove.Level, err error) *report {
	r := &report{Tool: tool{"mrtr", version()}, Revision: revision, Reports: reports, level: level}
	if reports == nil {
		r.Reports = prove.Reports{} // a reader expects a list
	}
	s := &r.Summary
	s.Level, s.Failed = level, len(reports.Failures(level))
	s.Weaker = reports.Count(prove.Fail) - s.Failed
	s.Noted, s.Skipped = reports.Count(prove.Note), reports.Count(prove.Skip)
	s.Tried = s.Failed + s.Weaker + s.Noted + reports.Count(prove.Pass)
	for _, one := range reports {
		s.Calls += one.Calls
	}
	if err == nil && s.Tried == 0 && reports.Count(prove.Try) == 0 {
		err = errors.New("nothing could be proved: every rule was skipped")
	}
	if err != nil {
		r.Error = message(err)
	}
	return r
}

func version() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return "unknown"
	}
	return info.Main.Version
}

// status says how the command ends.
func (r *report) status() status {
	switch {
	case r.Error != "":
		return statusMisused
	case r.Summary.Failed > 0:
		return statusFound
	}
	return statusClean
}

// decides says that a finding is a failure that the exit status shows.
func (r *report) decides(f prove.Finding) bool {
	return f.Outcome == prove.Fail && r.level.Covers(f.Rule.Level)
}

// writeText prints the findings, or only the failures that decide.
func (r *report) writeText(w io.Writer, quiet bool) error {
	if !quiet {
		_, err := io.WriteString(w, r.Reports.String())
		return err
	}
	for _, f := range r.Reports.Failures(r.level) {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

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

// place is the tool, below the kind of client if there is one.
func place(r *prove.Report) string {
	name := r.Tool
	if name == "" {
		name = "the server"
	}
	if r.Client != "" {
		name = r.Client + "/" + name
	}
	return name
}

// toFile writes one format to a file; no name writes none.
func toFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
