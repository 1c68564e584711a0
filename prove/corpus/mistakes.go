package main

import (
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/prove"
)

// language is one program of the corpus.
type language struct {
	name     string
	command  func() (program string, args []string, err error)
	designs  []design
	scenario prove.Scenario
	mistakes []mistake
	// stdio starts the program for each connection, with one design and mistake.
	stdio bool
	// rules and groups are tried on a correct server; none means all.
	rules []string
}

// design is one correct way to build the tool.
type design struct {
	name      string
	singleUse bool // the tool promises that no call has its effect twice
}

// mistake is one thing that a server does wrong.
type mistake struct {
	name string
	// designs have it, with spaces between them; "" are all.
	designs string
	// rules find it, with spaces between them: any of them is right.
	rules string
}

func (m mistake) right() []string { return strings.Fields(m.rules) }

// server is a design with a mistake, or without one.
type server struct {
	language *language
	design   design
	mistake  mistake
}

func (s server) name() string {
	name := s.language.name + "/" + s.design.name
	if s.mistake.name != "" {
		name += "/" + s.mistake.name
	}
	return name
}

// mistakeName is - for a correct server, as the programs have it.
func (s server) mistakeName() string {
	if s.correct() {
		return "-"
	}
	return s.mistake.name
}

func (s server) correct() bool { return s.mistake.name == "" }

// servers are the corpus: every correct design, and every mistake behind so many designs, which
// follow on each other from one mistake to the next. With 0 it is behind each that can have it.
func servers(languages []*language, designs int) (all []server) {
	for _, l := range languages {
		for _, d := range l.designs {
			all = append(all, server{l, d, mistake{}})
		}
		for i, m := range l.mistakes {
			var able []design
			for _, d := range l.designs {
				if m.designs == "" || slices.Contains(strings.Fields(m.designs), d.name) {
					able = append(able, d)
				}
			}
			for n, d := range able {
				if designs == 0 || (n-designs*i%len(able)+len(able))%len(able) < designs {
					all = append(all, server{l, d, m})
				}
			}
		}
	}
	return all
}
