// Command arrows says how the files of a Go package lean on each other:
//
//	go run ./arrows [-v] FOLDER
//
// An arrow runs from a file to each other file that declares a package-level name or a method
// that it uses. The files are laid in an order, lowest first: next comes the file that leans on
// the fewest of those that are not laid yet. An arrow to a file that is laid later runs back up.
// In a package that reads from the top down few do.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	verbose := flag.Bool("v", false, "name the arrows that run back up, each with what it uses")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "arrows:", err)
		os.Exit(1)
	}
}

func run(folder string, verbose bool) error {
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports
	found, err := packages.Load(&packages.Config{Mode: mode, Dir: folder}, ".")
	if err != nil {
		return err
	}
	if len(found) != 1 || len(found[0].Errors) > 0 {
		return fmt.Errorf("%s is not one package that compiles: %v", folder, found)
	}
	leans := read(found[0])
	order, back := leans.lay()
	arrows := 0
	for _, on := range leans {
		arrows += len(on)
	}
	fmt.Printf("%s: %d files, %d arrows, %d of them back up\n", found[0].Name, len(leans), arrows, len(back))
	if !verbose {
		return nil
	}
	fmt.Println("lowest first:", strings.Join(order, " "))
	for _, a := range back {
		fmt.Printf("%s -> %s: %s\n", a[0], a[1], strings.Join(slices.Sorted(maps.Keys(leans[a[0]][a[1]])), ", "))
	}
	return nil
}

// leaning has for each file the files that it leans on, and the names that it uses there.
type leaning map[string]map[string]map[string]bool

func read(p *packages.Package) leaning {
	leans := leaning{}
	for _, file := range p.Syntax {
		from := filepath.Base(p.Fset.Position(file.Pos()).Filename)
		if leans[from] == nil {
			leans[from] = map[string]map[string]bool{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			used := p.TypesInfo.Uses[id]
			if used == nil || used.Pkg() != p.Types || !isDeclared(used) {
				return true
			}
			if f, ok := used.(*types.Func); ok {
				used = f.Origin()
			}
			to := filepath.Base(p.Fset.Position(used.Pos()).Filename)
			if to == from {
				return true
			}
			if leans[from][to] == nil {
				leans[from][to] = map[string]bool{}
			}
			leans[from][to][used.Name()] = true
			return true
		})
	}
	return leans
}

// isDeclared reports whether an object is a package-level name or a method.
func isDeclared(o types.Object) bool {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

// lay lays the files in an order, and returns the arrows that run back up.
func (l leaning) lay() (order []string, back [][2]string) {
	left := slices.Sorted(maps.Keys(l))
	for len(left) > 0 {
		open := func(file string) (n int) {
			for to := range l[file] {
				if slices.Contains(left, to) {
					n++
				}
			}
			return n
		}
		carried := func(file string) (n int) {
			for _, other := range left {
				if l[other][file] != nil {
					n++
				}
			}
			return n
		}
		next := slices.MinFunc(left, func(a, b string) int {
			return cmp.Or(cmp.Compare(open(a)-carried(a), open(b)-carried(b)), cmp.Compare(open(a), open(b)), cmp.Compare(a, b))
		})
		if i := slices.IndexFunc(left, func(file string) bool { return open(file) == 0 }); i >= 0 {
			next = left[i]
		}
		for _, to := range slices.Sorted(maps.Keys(l[next])) {
			if to != next && slices.Contains(left, to) {
				back = append(back, [2]string{next, to})
			}
		}
		order = append(order, next)
		left = slices.DeleteFunc(left, func(file string) bool { return file == next })
	}
	return order, back
}
