package main

import (
	"fmt"
	"regexp"

	"github.com/mrtr-go/sdk/bench/internal/picture"
)

// curve is one line, or one group of bars, of a picture.
type curve struct {
	title   string
	section string // where it is measured
	name    string
	style   int
	points  []point
}

type point struct {
	x  int
	of load
}

const (
	byServer  = "Server CPU a call, with GOGC="
	byClients = "Server CPU a call, clients at once:"
	byRounds  = "Server CPU a call, questions in it:"
	byFrames  = "Engine CPU of a coroutine's call, calls held meanwhile:"
)

func curves() []curve {
	var all []curve
	for _, s := range []struct {
		name  string
		style int
		load  load
	}{
		{"mrtr", picture.Ours, native},
		{"mrtr with the boundary", picture.Ours, withGuard},
		{"mrtr with StockFront", picture.Ours, throughSDK},
		{"go-sdk, mrtr's handler", picture.Host, stock},
		{"the same, decoder mended", picture.Host, stock.of(mended)},
		{"go-sdk, unprotected", picture.HostBare, bareHTTP},
		{"mcp-go, unprotected", picture.Peer, mcpGo},
		{"net/http, the same bytes", picture.OtherPeer, netHTTP},
	} {
		all = append(all, curve{byServer, overHTTP, s.name, s.style, []point{{100, s.load}, {400, s.load.withGOGC(400)}}})
	}
	all = append(all, curve{byServer, overHTTP, "TypeScript SDK, unprotected", picture.OtherPeer, []point{{100, nodeHTTP}}})
	var clients, rounds []curve
	for _, s := range []struct {
		name  string
		style int
		load  load
	}{
		{"mrtr", picture.Ours, native},
		{"go-sdk, mrtr's handler", picture.Host, stock},
		{"go-sdk, unprotected", picture.HostBare, bareHTTP},
		{"mcp-go, unprotected", picture.Peer, mcpGo},
	} {
		byN := curve{byClients, byClients, s.name, s.style, nil}
		for _, n := range []int{1, 4, 16, 64} {
			byN.points = append(byN.points, point{n, s.load.withClients(n)})
		}
		clients = append(clients, byN)
		byN = curve{byRounds, byRounds, s.name, s.style, nil}
		for _, n := range []int{1, 2, 4, 8} {
			byN.points = append(byN.points, point{n, s.load.asking(n)})
		}
		rounds = append(rounds, byN)
	}
	frames := curve{byFrames, byFrames, "mrtr", picture.Ours, nil}
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		frames.points = append(frames.points, point{n, inMemory(today, fmt.Sprintf("frames/%d", n))})
	}
	return append(append(append(all, clients...), rounds...), frames)
}

// chooseCurves keeps the curves whose title and name match.
func chooseCurves(all []curve, pattern *regexp.Regexp) []curve {
	var chosen []curve
	for _, c := range all {
		if pattern.MatchString(c.title + " " + c.name) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}
