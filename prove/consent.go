package prove

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

// A user says yes or no in a truth value, or by a choice. Words are a first guess at which choice
// is which, in the languages that most forms are in. Where they do not tell, the choice that has
// the effect is the yes: see learnTheYes.

var (
	// "no preference" is no refusal.
	refuses  = regexp.MustCompile(`(?i)^(no|nope|n|nein|non|nei|nej|não|nao|nie|ne|нет|ні|いいえ|否|不|아니요|아니오|hayır|hayir|όχι|لا|nem|false|cancel|abort|decline|deny|reject|refuse|disagree|abbrechen|ablehnen|annuler|refuser|cancelar|annulla|отмена|取消|キャンセル)([,.!:]|$)|^(no,? thank|do ?n[o'’]t |cancel |abort |stop|nicht |keep it)`)
	consents = regexp.MustCompile(`(?i)(^|[^a-z])(confirm|confirmed|confirmation|sure|agree|agreed|accept|accepted|approve|approved|approval|consent|proceed|continue|authori[sz]ed?|allow|ok|yes|really|go)($|[^a-z])`)
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
	for _, choice := range choicesOf(s) {
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
	content := contentOf(t.honestly(q))
	schema, err := readSchema(q.Schema)
	if !isForm(q) || err != nil {
		return nil
	}
	for _, name := range q.Properties() {
		s := schema.Properties[name]
		_, no := consent(name, s)
		learned, known := t.chosen[asksFor(q)+" "+name]
		switch {
		case known: // every other choice is a no
			for _, choice := range choicesOf(s) {
				if choice != learned {
					all = append(all, with(content, name, choice))
				}
			}
		case no == nil || marshal(content[name]) == marshal(no):
		case name == wants(q) || asksConsent(name):
			for _, choice := range choicesOf(s) {
				if text, _ := choice.(string); choice == false || refuses.MatchString(strings.TrimSpace(text)) {
					all = append(all, with(content, name, choice))
				}
			}
		}
	}
	return all
}

// canRefuse reports whether a user says no to a question by filling it in.
func (t *trial) canRefuse(q wire.Question) bool { return len(t.noes(q)) > 0 }

// asksYesOrNo reports whether a question does nothing but ask for consent.
func asksYesOrNo(q wire.Question) bool {
	schema, err := readSchema(q.Schema)
	if !isForm(q) || err != nil || wants(q) == "" {
		return false
	}
	_, no := consent(wants(q), schema.Properties[wants(q)])
	return no != nil
}

// wants is the property that a question is for: the only one, or the only one that it requires;
// "" where it has several.
func wants(q wire.Question) string {
	properties := q.Properties()
	if len(properties) > 1 {
		schema, err := readSchema(q.Schema)
		if err != nil {
			return ""
		}
		properties = schema.Required
	}
	if !isForm(q) || len(properties) != 1 {
		return ""
	}
	return properties[0]
}

func isForm(q wire.Question) bool {
	return q.Method == "elicitation/create" && (q.Mode == "" || q.Mode == "form")
}

// declinable reports whether an honest user may say no to any question.
func (t *trial) declinable() bool {
	return slices.ContainsFunc(t.honest.questions(), func(q wire.Question) bool { return q.Method == "elicitation/create" })
}
