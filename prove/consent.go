package prove

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

// A user says yes or no in a truth value, or by a choice whose words do. A form may offer the no
// as its default, or first.

var (
	// "no preference" is no refusal.
	refuses  = regexp.MustCompile(`(?i)^(no|nope|n|false|cancel|abort|decline|deny|reject|refuse|disagree)([,.!:]|$)|^(no,? thank|do ?n[o'’]t |cancel |abort )`)
	consents = regexp.MustCompile(`(?i)(^|[^a-z])(confirm|confirmed|confirmation|sure|agree|agreed|accept|accepted|approve|approved|approval|consent|proceed|continue|authori[sz]ed?|allow|ok|yes|really)($|[^a-z])`)
	camel    = regexp.MustCompile(`([a-z])([A-Z])`)
)

// asksConsent reports whether a property is named after somebody's consent.
func asksConsent(name string) bool {
	return consents.MatchString(camel.ReplaceAllString(name, "$1 $2"))
}

// consent are the values of a property by which a user says yes and no. They are nil if it has
// no such values.
func consent(name string, s *jsonschema.Schema) (yes, no any) {
	if s == nil || s.Const != nil {
		return nil, nil
	}
	if s.Type == "boolean" && len(s.Enum) == 0 {
		return true, false
	}
	for _, choice := range slices.Concat(s.Enum, titled(s)) {
		switch text, _ := choice.(string); {
		case choice == false || refuses.MatchString(strings.TrimSpace(text)):
			if no == nil {
				no = choice
			}
		case yes == nil:
			yes = choice
		}
	}
	if yes == nil || no == nil {
		return nil, nil
	}
	return yes, no
}

// noes are the contents by which a user who fills in the form says no, one for each property that
// asks for consent. The honest content says yes to all of them.
func (t *trial) noes(q wire.Question) (all []map[string]any) {
	honest, _ := t.honestly(q).(map[string]any)
	content, _ := honest["content"].(map[string]any)
	schema, err := readSchema(q.Schema)
	if !isForm(q) || err != nil {
		return nil
	}
	for _, name := range q.Properties() {
		yes, no := consent(name, schema.Properties[name])
		if no == nil || marshal(content[name]) != marshal(yes) {
			continue
		}
		if name == wants(q) || asksConsent(name) {
			all = append(all, with(content, name, no))
		}
	}
	return all
}

// asksYesOrNo reports whether a question does nothing but ask for consent.
func asksYesOrNo(q wire.Question) bool {
	schema, err := readSchema(q.Schema)
	if !isForm(q) || err != nil || wants(q) == "" {
		return false
	}
	_, no := consent(wants(q), schema.Properties[wants(q)])
	return no != nil
}
