package main

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/mrtr-go/sdk/prove"
)

// The parts of SARIF 2.1.0 that a report fills.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string      `json:"id"`
		Short   sarifText   `json:"shortDescription"`
		Full    sarifText   `json:"fullDescription"`
		HelpURI string      `json:"helpUri,omitempty"`
		Default sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
)

// sarifLevels has a broken MUST for an error. It says how grave a failure is, whether or not it
// decides.
var sarifLevels = map[prove.Level]string{prove.Must: "error", prove.Promise: "error", prove.Should: "warning", prove.Ours: "note"}

// writeSARIF writes the failures, for those who keep them by file. A server has none unless
// -file names one.
func (r *report) writeSARIF(w io.Writer) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: r.Tool.Name, Version: r.Tool.Version, InformationURI: homepage, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{Successful: r.Error == ""}},
		Results:     []sarifResult{},
	}
	if r.Error != "" {
		run.Invocations[0].Notifications = []sarifNotification{{"error", sarifText{r.Error}}}
	}
	rules := &run.Tool.Driver.Rules
	for _, one := range r.Reports {
		for _, f := range one.Findings {
			at := slices.IndexFunc(*rules, func(known sarifRule) bool { return known.ID == f.Rule.Name })
			if at < 0 {
				at = len(*rules)
				*rules = append(*rules, sarifRuleOf(f.Rule))
			}
			if f.Outcome != prove.Fail {
				continue
			}
			location := sarifLocation{Logical: []sarifLogical{{place(one), "function"}}}
			if r.file != "" {
				location.Physical = &sarifPhysical{sarifArtifact{r.file}}
			}
			run.Results = append(run.Results, sarifResult{
				RuleID: f.Rule.Name, RuleIndex: at, Level: sarifLevels[f.Rule.Level], Message: sarifText{f.Rule.Says + " " + f.Detail},
				Locations: []sarifLocation{location}, Fingerprints: map[string]string{"toolAndRule/v1": place(one) + " " + f.Rule.Name},
			})
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRuleOf(r prove.Rule) sarifRule {
	full, source := string(r.Clause), r.Clause.Source()
	if source.Quote != "" {
		full += ": " + source.Quote
	}
	return sarifRule{r.Name, sarifText{r.Says}, sarifText{full}, source.URL, sarifConfig{sarifLevels[r.Level]}}
}
