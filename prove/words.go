package prove

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A question shows what the person agrees to. Where a counter reports with what an effect
// happened, it is held against the words of the question that got the yes.

var (
	spelledNumber = regexp.MustCompile(`\d[\d,.' \x{a0}\x{202f}]*\d|\d`)
	currencies    = map[string]string{
		"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "EURO": "EUR", "EUROS": "EUR", "DOLLARS": "USD", "POUNDS": "GBP", "EUR": "EUR", "USD": "USD",
		"GBP": "GBP", "JPY": "JPY", "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "SEK": "SEK", "NOK": "NOK", "DKK": "DKK", "PLN": "PLN", "CZK": "CZK", "INR": "INR",
		"CNY": "CNY", "BRL": "BRL", "MXN": "MXN", "KRW": "KRW", "TRY": "TRY", "HUF": "HUF", "₹": "INR",
	}
	amounts = regexp.MustCompile(`(?i)^(amount|price|total|sum|cost|fee|value|charge|paid|pay|seats?|count|quantity|qty|number|n)$|_?(amount|price|total|cents|eur|usd)$`)
)

// numbersIn are the numbers that a text shows, however they are spelled.
func numbersIn(text string) (all []float64) {
	for _, found := range spelledNumber.FindAllString(text, -1) {
		plain := strings.NewReplacer("'", "", " ", "", "\u00a0", "", "\u202f", "").Replace(found)
		for _, spelled := range []string{strings.ReplaceAll(plain, ",", ""), strings.ReplaceAll(strings.ReplaceAll(plain, ".", ""), ",", ".")} {
			if n, err := strconv.ParseFloat(spelled, 64); err == nil && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// currenciesIn are those that a text names.
func currenciesIn(text string) map[string]bool {
	found := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToUpper(text), func(c rune) bool { return !strings.ContainsRune("€$£¥₹", c) && (c < 'A' || c > 'Z') }) {
		if code := currencies[word]; code != "" {
			found[code] = true
		}
		for sign, code := range currencies {
			if len(sign) > 0 && sign[0] > 'Z' || sign == "$" {
				if strings.Contains(word, sign) {
					found[code] = true
				}
			}
		}
	}
	return found
}

// misworded ends the rule if an effect happened with another amount, or in another currency, than
// the questions showed that got the yes.
func (t *trial) misworded(happened effects, p *performed) {
	said := map[string]bool{}
	for i, a := range p.acts {
		if a.on >= 0 && p.facts[i].agreed && p.replies[a.on].asks() {
			for _, q := range p.replies[a.on].reply.Asks {
				said[q.Message] = true
			}
		}
	}
	if len(said) == 0 {
		return
	}
	shown := strings.Join(slices.Sorted(maps.Keys(said)), "\n")
	for _, name := range slices.Sorted(maps.Keys(happened)) {
		if happened[name] <= 0 {
			continue
		}
		if wrong := against(shown, name); wrong != "" {
			t.showTrace(p.acts)
			t.failAt(p.last(), "%s, and the question said %q", wrong, clean(shown))
		}
	}
}

// against says with what an effect happened that the words do not show; "" if they show it all,
// or are silent about such things.
func against(words, effect string) string {
	bare, members := membersOf(effect)
	numbers, named := numbersIn(words), currenciesIn(words)
	for _, m := range members {
		n, err := strconv.ParseFloat(m.value, 64)
		shows := func(shown float64) bool {
			return math.Abs(shown-n) < 1e-9 || math.Abs(shown*100-n) < 1e-6 || math.Abs(shown-n*100) < 1e-6
		}
		code := currencies[strings.ToUpper(m.value)]
		switch {
		case err == nil && len(numbers) > 0 && (amounts.MatchString(m.name) || m.name == bare) && !slices.ContainsFunc(numbers, shows):
			return fmt.Sprintf("%q happened with %s %s", bare, m.name, m.value)
		case code != "" && len(named) > 0 && !named[code]:
			return fmt.Sprintf("%q happened in %s", bare, code)
		}
	}
	return ""
}

// steady are the effects without the members that differ between equal calls, which a server draws
// anew.
func steady(all effects, varies map[string]bool) effects {
	sum := effects{}
	for name, n := range all {
		bare, members := membersOf(name)
		for _, m := range members {
			if !varies[bare+" "+m.name] {
				bare += " " + m.name + "=" + m.value
			}
		}
		sum[bare] += n
	}
	return sum
}

// varying are the members that differ between equal calls.
func varying(calls ...effects) map[string]bool {
	values, varies := map[string]string{}, map[string]bool{}
	for _, call := range calls {
		for _, name := range slices.Sorted(maps.Keys(call)) {
			bare, members := membersOf(name)
			for _, m := range members {
				key := bare + " " + m.name
				if known, seen := values[key]; seen && known != m.value {
					varies[key] = true
				}
				values[key] = m.value
			}
		}
	}
	return varies
}
