// Elsewhere type-checks modules, with their tests, as other systems would compile them. It
// reads sources alone: to compile a library for a system on which nothing runs here takes
// several times as long, and finds no more.
package main

import (
	"fmt"
	"log"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	found := 0
	for _, dir := range os.Args[1:] {
		for _, system := range []string{"darwin", "windows"} {
			all, err := packages.Load(&packages.Config{
				Mode: packages.LoadAllSyntax, Tests: true,
				Dir: dir, Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
			}, "./...")
			if err != nil {
				log.Fatalf("%s in %s: %v", system, dir, err)
			}
			if len(all) == 0 {
				log.Fatalf("%s in %s: there is no package", system, dir)
			}
			fmt.Println(system, dir)
			found += packages.PrintErrors(all)
		}
	}
	if found > 0 || len(os.Args) == 1 {
		os.Exit(1)
	}
}
