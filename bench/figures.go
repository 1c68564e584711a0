package main

import (
	"fmt"
	"regexp"

	"github.com/mrtr-go/sdk/options"
)

const (
	clock  = "ns/op"
	allocs = "allocs/op"
	memory = "B/op"
)

func read(pkg, name, unit string) reading { return reading{contender{pkg, name}, unit} }

// sections are all figures, with the targets that were set before the first
// measurement.
func sections() []section {
	all := []section{engineAlone(), inMemory("all"), inMemory("one")}
	for _, clients := range []int{1, 16, 64} {
		all = append(all, overHTTP(clients))
	}
	return append(all, rawCodec(), stateCodec(), forgeries(), answers(), parked(), aroundTools(), overWebSocket(), decoding())
}

// choose keeps the figures whose section or name matches.
func choose(pattern *regexp.Regexp) []section {
	var chosen []section
	for _, s := range sections() {
		var figures []figure
		for _, f := range s.figures {
			if pattern.MatchString(s.title + ": " + f.what) {
				figures = append(figures, f)
			}
		}
		if s.figures = figures; len(figures) > 0 {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func engineAlone() section {
	s := section{title: "The engine alone: two rounds, handler only, all protections on", against: "a handler without it"}
	for _, unit := range []string{clock, allocs} {
		what, target := "time", 5e3
		if unit == allocs {
			what, target = "allocations", 40
		}
		bare := read("mrtr", "TwoRounds/bare", unit)
		s.figures = append(s.figures,
			figure{what: "the engine's " + what, ours: read("mrtr", "TwoRounds/engine", unit), theirs: bare, measured: adds, target: target},
			figure{what: "signed by hand, " + what, ours: read("mrtr", "TwoRounds/signed", unit), theirs: bare, measured: adds})
	}
	return s
}

func inMemory(processors string) section {
	s := section{title: "A two-round weather call in memory, processors: " + processors, against: "bare go-sdk"}
	at := func(name, unit string) reading { return read("bench", "Memory/"+processors, name+"-"+unit) }
	add := func(what, name, unit string, target float64) {
		s.figures = append(s.figures, figure{
			what: what, ours: at(name, unit), theirs: at("bare", unit), target: target, idle: at("idle", unit),
		})
	}
	for _, style := range options.All {
		add(style.Name+", wall", style.Name, clock, wallTarget(style.Name))
		add(style.Name+", allocations", style.Name, allocs, 1.08)
	}
	add("bare with a state as long, wall", "padded", clock, 0)
	add("bare with a state as long, allocations", "padded", allocs, 0)
	return s
}

func wallTarget(style string) float64 {
	if style == "coroutine" || style == "journal" {
		return 1.05
	}
	return 1.03
}

func overHTTP(clients int) section {
	s := section{title: fmt.Sprintf("The same over streamable HTTP, clients at once: %d", clients), against: "bare go-sdk"}
	at := func(name string) reading { return read("bench", fmt.Sprintf("HTTP/%d", clients), name+"-"+clock) }
	for _, style := range options.All {
		s.figures = append(s.figures, figure{
			what: style.Name, ours: at(style.Name), theirs: at("bare"), target: 1.03, idle: at("idle"),
		})
	}
	return section{s.title, s.against, append(s.figures,
		figure{what: "bare with a state as long", ours: at("padded"), theirs: at("bare")},
		figure{what: "mcp-go, as it is", ours: at("mcp-go"), theirs: at("bare")})}
}

func rawCodec() section {
	s := section{title: "statecodec alone, raw payload", against: "SHA-256 and base64"}
	for _, size := range []int{64, 600, 4096} {
		for _, how := range []string{"readable", "encrypted"} {
			s.figures = append(s.figures, figure{
				what:   fmt.Sprintf("seal %d B, %s", size, how),
				ours:   read("statecodec", fmt.Sprintf("Seal/%d/%s,_nothing_bound", size, how), clock),
				theirs: read("statecodec", fmt.Sprintf("Seal/%d/limit", size), clock), target: 1.5,
			}, figure{
				what:   fmt.Sprintf("open %d B, %s", size, how),
				ours:   read("statecodec", fmt.Sprintf("Open/%d/%s,_nothing_bound", size, how), clock),
				theirs: read("statecodec", fmt.Sprintf("Open/%d/limit", size), clock), target: 1.5,
			})
		}
	}
	return s
}

func stateCodec() section {
	ours := read("bench", "Codec/ours", clock)
	s := section{title: "Seal plus open of a real state", against: "the other", figures: []figure{{
		what: "SHA-256 and base64", ours: read("statecodec", "RoundTrip/encrypted", clock),
		theirs: read("statecodec", "RoundTrip/limit/both_ways", clock), target: 4,
	}}}
	for _, peer := range []struct {
		what, name string
		target     float64
	}{
		{"gorilla/securecookie", "securecookie", 2.5},
		{"golang-jwt", "golang-jwt", 3.5},
		{"the TypeScript SDK's codec, under Node", "typescript", 30},
	} {
		s.figures = append(s.figures, figure{
			what: peer.what, ours: ours, theirs: read("bench", "Codec/"+peer.name, clock), measured: faster, target: peer.target,
		})
	}
	return s
}

func forgeries() section {
	s := section{title: "Refusing a forged token", against: "opening a good one"}
	for _, forgery := range []string{"garbage", "unknown_key", "truncated", "body_altered", "tag_altered", "transplanted"} {
		s.figures = append(s.figures, figure{
			what: forgery, ours: read("statecodec", "Refuse/"+forgery, clock),
			theirs: read("statecodec", "Refuse/opened", clock), target: 0.25,
		})
	}
	return s
}

func answers() section {
	s := section{title: "Validating an answer, its schema resolved once", against: "resolved each time"}
	for _, form := range []struct{ what, name string }{{"a choice", "choice"}, {"a form of two fields", "form"}} {
		s.figures = append(s.figures, figure{
			what: form.what, ours: read("form", "Answer/"+form.name+"/resolved_once", clock),
			theirs: read("form", "Answer/"+form.name+"/resolved_each_time", clock), measured: faster, target: 20,
		})
	}
	return s
}

func parked() section {
	s := section{title: "A parked call", against: "a bare parked goroutine", figures: []figure{{
		what: "bytes of each of 100,000", ours: read("mrtr", "ParkedFrame", "heap-B/frame+stack-B/frame"),
		theirs: read("mrtr", "ParkedFrame", "bare-heap-B+bare-stack-B"), target: 1.15,
	}}}
	for _, parked := range []int{100, 100_000} {
		s.figures = append(s.figures, figure{
			what: fmt.Sprintf("resume, %d parked", parked), ours: read("mrtr", fmt.Sprintf("Resume/frame/%d", parked), clock),
			theirs: read("mrtr", fmt.Sprintf("Resume/bare/%d", parked), clock), target: 2,
		})
	}
	return s
}

func aroundTools() section {
	s := section{title: "The boundary around a 1 KiB result", against: "without it"}
	for _, over := range []string{"memory", "http"} {
		for _, tool := range []string{"text", "structured"} {
			s.figures = append(s.figures, figure{
				what: tool + ", over " + over, ours: read("boundary", "Ratio/"+over+"/"+tool, "with/without"),
				measured: given, target: 1.02,
			})
		}
	}
	return s
}

func overWebSocket() section {
	at := func(name string) reading { return read("bench", "HTTP/1", name+"-"+clock) }
	return section{title: "A two-round call, one client: calls a second", against: "streamable HTTP", figures: []figure{{
		what: "our WebSocket", ours: at("websocket-native"), theirs: at("native"),
		measured: faster, target: 1.5, idle: at("websocket-idle"),
	}}}
}

// decoding compares go-sdk with a copy that makes no decoder, and so no buffer,
// for each value.
func decoding() section {
	s := section{title: "go-sdk's JSON decoding", against: "from the bytes"}
	for _, m := range []struct{ what, unit string }{{"time", clock}, {"bytes", memory}} {
		s.figures = append(s.figures,
			figure{what: "one message, go-sdk, " + m.what, ours: read("bench", "Decode/go-sdk", m.unit), theirs: read(mended, "Decode/go-sdk", m.unit)},
			figure{what: "its first step alone, " + m.what, ours: read("bench", "Decode/decoder", m.unit), theirs: read("bench", "Decode/bytes", m.unit)},
			figure{what: "a bare two-round call in memory, " + m.what, ours: read("bench", "Memory/one", "bare-"+m.unit), theirs: read(mended, "Memory/one", "bare-"+m.unit)},
			figure{what: "a native two-round call in memory, " + m.what, ours: read("bench", "Memory/one", "native-"+m.unit), theirs: read(mended, "Memory/one", "native-"+m.unit)})
	}
	return s
}
