package prove

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A question shows what the person agrees to. Where a counter reports with what an effect
// happened, it is held against the words of the question that got the yes.

var (
	spelledNumber = regexp.MustCompile(`\d[\d,.' \x{a0}\x{202f}]*\d|\d`)
	text          = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) // of a form: its bounds show nothing
	currencies    = map[string]string{
		"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "EURO": "EUR", "EUROS": "EUR", "DOLLARS": "USD", "POUNDS": "GBP", "EUR": "EUR", "USD": "USD",
		"GBP": "GBP", "JPY": "JPY", "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "SEK": "SEK", "NOK": "NOK", "DKK": "DKK", "PLN": "PLN", "CZK": "CZK", "INR": "INR",
		"CNY": "CNY", "BRL": "BRL", "MXN": "MXN", "KRW": "KRW", "TRY": "TRY", "HUF": "HUF", "₹": "INR",
	}
	// money names the members that a question has to show, and amounts those that it shows if it
	// shows figures at all.
	money   = regexp.MustCompile(`(?i)(^|_)(amount|price|total|cost|fee|charge|paid|pay|cents|eur|usd)$`)
	amounts = regexp.MustCompile(`(?i)^(amount|price|total|sum|cost|fee|value|charge|paid|pay|seats?|count|quantity|qty|number|n)$|_?(amount|price|total|cents|eur|usd)$`)
)

// numbersIn are the numbers that a text shows, however they are spelled.
func numbersIn(text string) (all []float64) {
	for _, found := range spelledNumber.FindAllString(strings.Map(westernDigit, text), -1) {
		plain := strings.NewReplacer("'", "", " ", "", "\u00a0", "", "\u202f", "").Replace(found)
		for _, spelled := range []string{strings.ReplaceAll(plain, ",", ""), strings.ReplaceAll(strings.ReplaceAll(plain, ".", ""), ",", ".")} {
			if n, err := strconv.ParseFloat(spelled, 64); err == nil && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// westernDigit is the digit of any script, or its separator, as it is in ASCII.
func westernDigit(c rune) rune {
	switch {
	case strings.ContainsRune("\u066b\uff0e", c):
		return '.'
	case strings.ContainsRune("\u066c\uff0c", c):
		return ','
	case !unicode.IsDigit(c):
		return c
	}
	zero := c // the digits of a script stand side by side, from zero to nine
	for unicode.IsDigit(zero - 1) {
		zero--
	}
	return '0' + (c-zero)%10
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

// misworded is an effect that is not the one which the person was told of.
type misworded struct {
	acts        []act
	shows       exchange
	wrong, said string
}

// heldAgainst notes the first effect with another amount or currency than the questions that got the
// yes had shown. It looks at every trace, and one rule reports it.
func (t *trial) heldAgainst(happened effects, p *performed) {
	var said, told []string
	elsewhere := false
	for i, a := range p.acts {
		if a.on < 0 || !p.facts[i].agreed || !p.replies[a.on].asks() {
			continue
		}
		given, _ := p.replies[i].request.Responses.(map[string]any)
		for _, q := range p.replies[a.on].reply.Asks {
			said = append(said, q.Message)
			told = append(told, marshal(contentOf(given[q.Key])))
			told = append(told, text.FindAllString(string(q.Schema), -1)...)
			elsewhere = elsewhere || q.Mode == "url"
		}
	}
	if len(said) == 0 || t.misworded != nil {
		return
	}
	slices.Sort(said)
	shown := strings.Join(slices.Compact(said), "\n")
	for _, name := range slices.Sorted(maps.Keys(happened)) {
		if bare, _ := membersOf(name); happened[name] <= 0 || slices.Contains(t.scenario.Harmless, bare) {
			continue
		}
		if wrong := against(shown, strings.Join(told, "\n"), name, elsewhere); wrong != "" {
			t.book.misworded = &misworded{p.acts, p.last(), wrong, clean(shown)}
			return
		}
	}
}

// against names the amount or currency of an effect that the words do not show; "" if they show all.
// Forms and answers count as shown. Words with a currency and no figure may spell the amount out, and
// the page behind a URL shows it.
func against(words, told, effect string, elsewhere bool) string {
	bare, members := membersOf(effect)
	figures, named := numbersIn(words), currenciesIn(words+"\n"+told)
	numbers := append(numbersIn(told), figures...)
	unsaid := len(figures) == 0 && len(named) == 0 && !elsewhere
	for _, m := range members {
		n, err := strconv.ParseFloat(m.value, 64)
		shows := func(shown float64) bool {
			return math.Abs(shown-n) < 1e-9 || math.Abs(shown*100-n) < 1e-6 || math.Abs(shown-n*100) < 1e-6
		}
		code := currencies[strings.ToUpper(m.value)]
		wanted := len(figures) > 0 && (amounts.MatchString(m.name) || m.name == bare) || unsaid && n != 0 && money.MatchString(m.name)
		switch {
		case err == nil && wanted && !slices.ContainsFunc(numbers, shows):
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
