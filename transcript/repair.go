package transcript

import "fmt"

// Action is the kind of a repair.
type Action string

const (
	Added   Action = "added"   // an error result, for a tool use that had none
	Moved   Action = "moved"   // a result to its place, or the content before it away from there
	Dropped Action = "dropped" // a block that has no place in the conversation
	Renamed Action = "renamed" // a tool use, together with its result
)

// A Repair is the change made for one finding.
type Repair struct {
	Finding Finding
	Action  Action
	NewID   string // the new id, if Action is Renamed
}

// String returns the repair as one line.
func (r Repair) String() string {
	at := place{r.Finding.Message, r.Finding.Block}
	switch {
	case r.Action == Added:
		return fmt.Sprintf("%s: added an error result for %q", at, r.Finding.ID)
	case r.Action == Moved:
		return fmt.Sprintf("%s: put the result of %q where it belongs", at, r.Finding.ID)
	case r.Action == Renamed:
		return fmt.Sprintf("%s: renamed %q to %q", at, r.Finding.ID, r.NewID)
	case r.Finding.Kind == OutOfPlace:
		return fmt.Sprintf("%s: dropped the tool use %q", at, r.Finding.ID)
	default:
		return fmt.Sprintf("%s: dropped the %s result of %q", at, r.Finding.Kind, r.Finding.ID)
	}
}

// Repair returns a conversation in which each tool use is followed by its result,
// and one Repair for each finding of [Transcript.Check], in their order. A
// conversation without faults is returned as it is.
//
// A tool use without a result gets an error result, which tells the model that the
// call may or may not have taken effect. A result that is late or out of place is
// moved. Orphans, duplicate results and tool uses in user messages are dropped. A
// tool use with an id that was used before gets a new id, and so does its result.
//
// A message that is left without content is dropped if the one before it has the
// same role. Otherwise dropping it would bring two messages of a role together, or
// make an assistant message the first; it gets a line of text as its content.
//
// Nothing else is checked. The repaired conversation may be larger than [MaxBytes]
// if the original was close to it.
func (t *Transcript) Repair() (fixed *Transcript, repairs []Repair) {
	paired := t.pair()
	found := t.findings(paired)
	if len(found) == 0 {
		return t, nil
	}
	e := newEditor(t, paired)
	for _, f := range found {
		repairs = append(repairs, e.repairOf(f))
	}
	return e.edit(), repairs
}

func (e *editor) repairOf(f Finding) Repair {
	b := e.from.at(place{f.Message, f.Block})
	r := Repair{Finding: f}
	switch {
	case f.Kind == Missing:
		r.Action = Added
	case f.Kind == Duplicate && b.kind == use:
		r.Action, r.NewID = Renamed, e.newIDs[place{f.Message, f.Block}]
	case f.Kind == Late, f.Kind == OutOfPlace && b.kind == result:
		r.Action = Moved
	default:
		r.Action = Dropped
	}
	return r
}
