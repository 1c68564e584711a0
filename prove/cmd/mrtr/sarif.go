package main

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/mrtr-go/sdk/prove"
)

// member is a JSON object of SARIF 2.1.0, which has far more members than a report fills.
type member map[string]any

// sarifLevels has a broken MUST for an error. It says how grave a failure is, whether or not it
// decides.
var sarifLevels = map[prove.Level]string{prove.Must: "error", prove.Promise: "error", prove.Should: "warning", prove.Ours: "note"}

// writeSARIF writes the failures, for those who keep them by file. A server has none unless
// -file names one.
func (r *report) writeSARIF(w io.Writer) error {
	rules, results, known := []member{}, []member{}, []string{}
	for _, one := range r.Reports {
		for _, f := range one.Findings {
			at := slices.Index(known, f.Rule.Name)
			if at < 0 {
				at = len(known)
				known, rules = append(known, f.Rule.Name), append(rules, sarifRule(f.Rule))
			}
			if f.Outcome == prove.Fail {
				results = append(results, r.sarifResult(f, at, place(one)))
			}
		}
	}
	ran := member{"executionSuccessful": r.Error == ""}
	if r.Error != "" {
		ran["toolExecutionNotifications"] = []member{{"level": "error", "message": sarifText(r.Error)}}
	}
	driver := member{"name": r.Tool.Name, "version": r.Tool.Version, "informationUri": homepage, "rules": rules}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(member{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []member{{"tool": member{"driver": driver}, "invocations": []member{ran}, "results": results}},
	})
}

func (r *report) sarifResult(f prove.Finding, index int, where string) member {
	location := member{"logicalLocations": []member{{"name": where, "kind": "function"}}}
	if r.file != "" {
		location["physicalLocation"] = member{"artifactLocation": member{"uri": r.file}}
	}
	return member{
		"ruleId": f.Rule.Name, "ruleIndex": index, "level": sarifLevels[f.Rule.Level],
		"message":             sarifText(f.Rule.Says + " " + f.Detail),
		"locations":           []member{location},
		"partialFingerprints": member{"toolAndRule/v1": where + " " + f.Rule.Name},
	}
}

func sarifRule(r prove.Rule) member {
	full, source := string(r.Clause), r.Clause.Source()
	if source.Quote != "" {
		full += ": " + source.Quote
	}
	rule := member{
		"id": r.Name, "shortDescription": sarifText(r.Says), "fullDescription": sarifText(full),
		"defaultConfiguration": member{"level": sarifLevels[r.Level]},
	}
	if source.URL != "" {
		rule["helpUri"] = source.URL
	}
	return rule
}

func sarifText(text string) member { return member{"text": text} }
