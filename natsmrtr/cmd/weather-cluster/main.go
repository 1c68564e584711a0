// Command weather-cluster runs one weather tool in several processes behind a
// round-robin front, with a NATS server of its own in which they remember their
// rounds.
//
//	weather-cluster          serves until Ctrl-C, which stops all of it
//	weather-cluster -kill    makes one call, kills an instance in the middle of it, and
//	                         shows how the call completes at another one
//
// Every process is this binary. The front serves modern clients; a legacy client,
// which has a session, would have to reach one instance each time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if text := os.Getenv(instanceVariable); text != "" {
		if err := runInstance(text); err != nil {
			fmt.Fprintln(os.Stderr, "weather-cluster: an instance:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		os.Exit(2) // flag has said why
	default:
		fmt.Fprintln(os.Stderr, "weather-cluster:", err)
		os.Exit(1)
	}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	f := flag.NewFlagSet("weather-cluster", flag.ContinueOnError)
	f.SetOutput(errs)
	count := f.Int("n", 3, "how many instances there are, 2 to 9")
	address := f.String("http", "127.0.0.1:8080", "serve on this `address`; port 0 picks a free one")
	kill := f.Bool("kill", false, "make one call, and kill an instance in the middle of it")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	if f.NArg() > 0 || *count < 2 || *count > 9 {
		fmt.Fprintln(errs, "weather-cluster takes flags alone, and -n is 2 to 9")
		f.Usage()
		return usageError{errors.New("misused")}
	}
	said := &transcript{out: out}
	var onNotice func(*process, notice)
	if *kill {
		*address, onNotice = "127.0.0.1:0", killOne(said)
	}
	c, err := newCluster(ctx, *count, *address, said, onNotice)
	if err != nil {
		return err
	}
	defer c.close()
	if *kill {
		return c.showCall(ctx)
	}
	for _, p := range c.instances {
		c.said.say(p.name, "is process %d", p.cmd.Process.Pid)
	}
	c.said.say("front", "listens on http://%s/mcp", c.address())
	select {
	case <-ctx.Done():
		c.said.say("front", "stops")
		return nil
	case err := <-c.failed:
		return err
	}
}
