// Command corpus judges the prover. It proves servers whose verdict is known: in three
// languages and many designs, each as it should be and with one mistake at a time. It
// prints how many of the mistakes the right rule found, and which rules condemned a
// server that is correct. In the folder prove:
//
//	go run ./corpus
//	go run ./corpus -full -only python/jwt
//
// Each server is proved twice: with every ability that a prover can be given, and with
// its URL and a count of its effects alone.
//
// A language has one program, which serves each of its designs with each mistake under
// a path of its own. To add a mistake, build it into a program and name it in
// mistakes.go with the rule that must find it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"
)

var languages = []*language{python, pythonStdio, typescript, golang}

func main() {
	full := flag.Bool("full", false, "try every rule on the servers with a mistake too")
	only := flag.String("only", "", "prove the servers whose names contain this `text` alone")
	verbose := flag.Bool("v", false, "list every server, and quote what condemns a correct one")
	designs := flag.Int("designs", 3, "put each mistake behind so many designs; 0 is every one that can have it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *only, *full, *verbose, *designs); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, only string, full, verbose bool, designs int) error {
	began := time.Now()
	var chosen []server
	for _, s := range servers(languages, designs) {
		if strings.Contains(s.name(), only) {
			chosen = append(chosen, s)
		}
	}
	programs, end, err := startAll(languages)
	if err != nil {
		return err
	}
	defer end()
	results := judge(ctx, programs, chosen, full, 2*runtime.GOMAXPROCS(0))
	write(out, results, verbose)
	fmt.Fprintln(out, time.Since(began).Round(time.Second))
	return nil
}

func startAll(languages []*language) (programs map[*language]*program, end func(), err error) {
	programs = map[*language]*program{}
	end = func() {
		for _, p := range programs {
			p.end()
		}
	}
	for _, l := range languages {
		p, err := start(l)
		if err != nil {
			end()
			return nil, nil, err
		}
		programs[l] = p
	}
	return programs, end, nil
}
