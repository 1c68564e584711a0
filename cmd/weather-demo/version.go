package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"

	"github.com/mrtr-go/sdk/internal/wire"
)

const versionAbout = `Prints the version of the demo, of Go and of go-sdk, and the revisions of the
protocol that its clients speak.`

// version prints the versions that this program was built from.
func version(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("version", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this binary was built without modules, and does not know its version")
	}
	own := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && own == "(devel)" {
			own = s.Value
		}
	}
	fmt.Fprintf(t.out, "weather-demo  %s\n", own)
	fmt.Fprintf(t.out, "go            %s\n", info.GoVersion)
	for _, d := range info.Deps {
		if d.Path == "github.com/modelcontextprotocol/go-sdk" {
			fmt.Fprintf(t.out, "go-sdk        %s\n", d.Version)
		}
	}
	fmt.Fprintf(t.out, "protocol      %s, and %s as a legacy client\n", wire.Modern, wire.Legacy)
	return nil
}
