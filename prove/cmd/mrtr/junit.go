package main

import (
	"encoding/xml"
	"io"

	"github.com/mrtr-go/sdk/prove"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Error   *junitText `xml:"error,omitempty"`
	Skipped *junitText `xml:"skipped,omitempty"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes one suite for each group of rules of each tool. JUnit knows no grades, so a
// note passes with the note as its output, and so does a failure that does not decide. A run
// that proved nothing is an error, which a CI counts; an empty file would look like success.
func (r *report) writeJUnit(w io.Writer) error {
	var all junitSuites
	for _, one := range r.Reports {
		all.add(one, r.decides)
	}
	if r.Error != "" {
		all.Suites = append(all.Suites, junitSuite{Name: "mrtr", Tests: 1, Errors: 1, Cases: []junitCase{
			{Name: "prove", Class: "mrtr", Error: &junitText{r.Error, ""}},
		}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (all *junitSuites) add(r *prove.Report, decides func(prove.Finding) bool) {
	name := place(r)
	for _, f := range r.Findings {
		group := name + "/" + f.Rule.Group()
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != group {
			all.Suites = append(all.Suites, junitSuite{Name: group})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.Tests++
		c := junitCase{Name: f.Rule.Name, Class: group}
		switch {
		case decides(f):
			suite.Failures++
			c.Failure = &junitText{f.Detail, f.String()}
		case f.Outcome == prove.Skip:
			suite.Skipped++
			c.Skipped = &junitText{f.Detail, ""}
		case f.Outcome == prove.Fail:
			c.Output = f.String()
		default:
			c.Output = f.Detail
		}
		suite.Cases = append(suite.Cases, c)
	}
}
