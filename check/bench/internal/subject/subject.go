// Package subject is the measured process's side of the conversation with the
// program that measures it: a line in, a line out.
//
//	> ready ADDRESS     the first line; ADDRESS is "-" if nothing is served
//	< run N             do it N times
//	> {"cpu":…}         the cost of them, a roundcost.Reading
//	< meter
//	> {"cpu":…}         the process's cost so far
//
// It ends when its input does.
package subject

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/mrtr-go/sdk/check/roundcost"
)

// Converse serves the conversation on the process's standard streams. run does
// the work n times; it is nil if clients give the work.
func Converse(address string, run func(n int) error) error {
	fmt.Println("ready", address)
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		order, argument, _ := strings.Cut(orders.Text(), " ")
		reading := roundcost.Read()
		switch {
		case order == "run" && run != nil:
			n, err := strconv.Atoi(argument)
			if err != nil {
				return err
			}
			before := roundcost.Read()
			if err := run(n); err != nil {
				return err
			}
			reading = roundcost.Read().Since(before)
		case order != "meter":
			return fmt.Errorf("not an order: %q", orders.Text())
		}
		line, err := json.Marshal(reading)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", line)
	}
	return orders.Err()
}

// Times makes the work of Converse from work that is done once.
func Times(once func() error) func(n int) error {
	return func(n int) error {
		for range n {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	}
}
