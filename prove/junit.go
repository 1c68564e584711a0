package prove

import (
	"encoding/json"
	"encoding/xml"
	"io"
)

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report as JUnit XML, one suite for each group of rules. A
// note is a case that passed, with the note as its output.
func (r *Report) WriteJUnit(w io.Writer) error { return Reports{r}.WriteJUnit(w) }

func (all *junitSuites) add(r *Report) {
	name := r.name()
	if r.Client != "" {
		name = r.Client + "/" + name
	}
	for _, f := range r.Findings {
		group := name + "/" + f.Rule.Group()
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != group {
			all.Suites = append(all.Suites, junitSuite{Name: group})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.Tests++
		c := junitCase{Name: f.Rule.Name, Class: group}
		switch f.Outcome {
		case Fail:
			suite.Failures++
			c.Failure = &junitFailure{Message: f.Detail, Text: f.String()}
		case Skip:
			suite.Skipped++
			c.Skipped = &junitSkipped{Message: f.Detail}
		default:
			c.Output = f.Detail
		}
		suite.Cases = append(suite.Cases, c)
	}
}

func (all *junitSuites) write(w io.Writer) error {
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
