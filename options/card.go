package options

import "sync"

// Card is the tool's effect: each report is paid for. A safe style charges it once
// for each completed call, an unsafe one more often.
type Card struct {
	// Out gets the line of each charge, if it is set. Then Charges stays empty.
	Out func(line string)

	mu      sync.Mutex
	charges []string
}

// Charge takes the price of a report.
func (c *Card) Charge(place string) {
	line := "charged the card for " + place
	if c.Out != nil {
		c.Out(line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.charges = append(c.charges, line)
}

// Charges is a copy of the lines so far.
func (c *Card) Charges() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.charges...)
}
