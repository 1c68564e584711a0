package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// Script is one case: the tools that are served, and the commands to play. Its
// numbers that choose among things which exist only when it is played (rounds,
// requests) count from the latest, and end at the first.
type Script struct {
	Tools    []Tool
	Stored   bool // the first two instances have a store
	Commands []Command
}

// Tool is a plan in a style.
type Tool struct {
	Plan  int
	Style styleName
}

// Command is one thing that happens. Do says which; the other fields are
// described there, and are zero if they are not used.
type Command struct {
	Do       action
	Tool     int
	User     int
	Args     int
	Caps     int
	At       int // the instance
	Latest   int // which round or request, 0 for the latest
	Manners  []manner
	Extra    bool // answers to questions that were not asked come along
	Times    int  // how many rounds are answered
	Stubborn bool // all of them in the same manner
	Alter    alteration
	Position int // where it is altered
	Move     move
	Reworded bool
	Killed   bool
	Wait     time.Duration
	Mood     mood
	Nth      int  // the effect at which it happens
	After    bool // after that effect
	Both     bool // the request is sent again to both instances at once
	Replayed bool
}

type action string

const (
	// start: User calls Tool with Args, declaring Caps, at instance At.
	start action = "starts"
	// retry: a round is answered, by Manners, at its own instance or another (At). Where
	// Times is more than one, the rounds that follow are answered rightly, or by
	// Manners too if Stubborn.
	retry action = "answers"
	// again: a request is sent once more, as it was.
	again action = "sends again"
	// twice: a round is answered twice at once.
	twice action = "answers twice at once"
	// replay: a round is answered, in a call that its client plays once more from its first request,
	// each at its own instance, or at the other one (At).
	replay action = "plays again:"
	// alter: a round is answered with an altered state.
	alter action = "alters"
	// transplant: a round's state is sent with another request.
	transplant action = "transplants"
	// legacy: a legacy client makes a whole call.
	legacy action = "calls as a legacy client"
	// task: a client that takes tasks makes a whole call.
	task action = "calls as a task"
	// leave: a round is answered, and its client hangs up at the Nth effect, before it or
	// After. Where a store remembers the round, it is sent again at once, at its own
	// instance or another (At) or at Both.
	leave action = "answers and hangs up"
	// dies: the same, and the instance dies there. If Replayed, the client plays its call once more
	// before it sends the request again.
	dies action = "answers, and the instance dies"
	// stalls: the same, and the handler stops after that effect until its time is up.
	stalls action = "answers, and the handler stalls"
	// restart: an instance starts anew, with questions in other words if Reworded. One that is
	// Killed leaves no word in the store.
	restart action = "restart"
	// desks: the desk behind the effects changes its Mood.
	desks action = "the desk's mood changes"
	// wait: time passes.
	wait action = "wait"
	// closed: it does without the instances that have the store.
	closed action = "all are closed"
	// spoilt: the first turns are in a form that nobody reads.
	spoilt action = "another release"
)

// alteration is a change to a token on its way.
type alteration string

const (
	flipped  alteration = "flipped"
	cut      alteration = "cut"
	extended alteration = "extended"
	respelt  alteration = "respelt"
)

// alter never gives the token itself, nor an empty one, which would begin a call.
func (a alteration) alter(token string, position int) string {
	at := position % len(token)
	switch a {
	case flipped:
		c := byte('A')
		if token[at] == c {
			c = 'B'
		}
		return token[:at] + string(c) + token[at+1:]
	case cut:
		return token[:max(1, at)]
	case extended:
		return token + []string{"A", "=", " ", "\n", ".", "AAAA"}[position%6]
	case respelt:
		standard := strings.NewReplacer("-", "+", "_", "/").Replace(token)
		if standard != token {
			return standard
		}
		return token + "=="
	}
	return token
}

// move is where a state is sent that belongs elsewhere. The last one is where it
// belongs.
type move string

const (
	toTool    move = "to another tool"
	toArgs    move = "with other arguments"
	toUser    move = "by another user"
	toServer  move = "to another server"
	toLegacy  move = "by a legacy client"
	toItself  move = "with its arguments spelt differently"
	toSibling move = "to the other instance"
)

// Mostly calls go on as they should, for only then is there something to disturb.
var (
	actions = []action{
		start, start, start, retry, retry, retry, retry, retry, retry, retry, retry, again, again, twice, twice, replay, replay,
		leave, leave, dies, stalls,
		alter, transplant, transplant, legacy, legacy, legacy, task, task, task, restart, restart, restart, desks, desks, wait, closed, spoilt,
	}
	mannersOfUsers = []manner{
		right, right, right, right, other, other, other, declined, cancelled, missing, missing, misfit, misfit, wrongKind, undefined, shapeless,
	}
	mannersOfTaskUsers   = []manner{right, right, right, right, right, other, other, declined, cancelled, misfit, wrongKind, undefined}
	mannersOfLegacyUsers = []manner{right, right, right, right, other, other, declined, cancelled, missing, missing, misfit, misfit}
	alterations          = []alteration{flipped, cut, extended, respelt}
	moves                = []move{toTool, toArgs, toUser, toServer, toLegacy, toItself, toSibling}
	moods                = []mood{serving, serving, serving, refusing, busy, breaking, losing, unsure, hanging, panicked}
	waits                = []time.Duration{time.Minute, 20 * time.Minute, 61 * time.Minute}
)

// A script has chapters only so that rapid, whose lists have five elements on
// average, makes it long enough for calls to get in each other's way.
var scripts = rapid.Custom(func(t *rapid.T) Script {
	return Script{
		Tools:    rapid.SliceOfN(tools, 2, 4).Draw(t, "tools"),
		Stored:   rapid.Bool().Draw(t, "stored"),
		Commands: slices.Concat(rapid.SliceOfN(chapters, 1, 12).Draw(t, "chapters")...),
	}
})

var chapters = rapid.SliceOfN(commands, 1, 12)

// planned are the plans by number; few scripts come to the end of the long one.
var planned = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9}

var tools = rapid.Custom(func(t *rapid.T) Tool {
	return Tool{Plan: rapid.SampledFrom(planned).Draw(t, "plan"), Style: rapid.SampledFrom(styleNames).Draw(t, "style")}
})

var commands = rapid.Custom(func(t *rapid.T) Command {
	c := Command{Do: rapid.SampledFrom(actions).Draw(t, "do")}
	number := func(name string, below int) int { return rapid.IntRange(0, below-1).Draw(t, name) }
	switch c.Do {
	case start, legacy, task:
		c.Tool, c.User, c.Args = number("tool", 4), number("user", len(users)), number("args", len(refs))
		c.At = rapid.SampledFrom([]int{0, 0, 1, elsewhere}).Draw(t, "at")
		// One client in four declares less.
		c.Caps = max(0, number("caps", 4+len(capabilities))-4)
		if c.Do == legacy {
			c.Manners = rapid.SliceOfN(rapid.SampledFrom(mannersOfLegacyUsers), 1, 4).Draw(t, "manners")
		}
		if c.Do == task {
			c.Manners = rapid.SliceOfN(rapid.SampledFrom(mannersOfTaskUsers), 1, 4).Draw(t, "manners")
			c.Both, c.Nth = rapid.Bool().Draw(t, "both"), number("nth", 5)
			c.After, c.Killed = number("after", 4) == 3, rapid.Bool().Draw(t, "killed")
		}
	case retry:
		c.Latest, c.Times = latest.Draw(t, "latest"), rapid.SampledFrom([]int{1, 1, 1, 2, 3, 10}).Draw(t, "times")
		c.Manners, c.Extra = manners.Draw(t, "manners"), number("extra", 4) == 3
		c.At, c.Stubborn = max(0, number("at", 4)-2), rapid.Bool().Draw(t, "stubborn")
	case again:
		c.Latest = number("latest", 12)
	case leave, dies, stalls:
		c.Latest, c.Manners, c.At = latest.Draw(t, "latest"), mostlyRight.Draw(t, "manners"), number("at", 2)
		c.Nth, c.After, c.Both = 1+number("nth", 2), rapid.Bool().Draw(t, "after"), rapid.Bool().Draw(t, "both")
		c.Replayed = c.Do == dies && rapid.Bool().Draw(t, "replayed")
	case desks:
		c.Mood = rapid.SampledFrom(moods).Draw(t, "mood")
	case replay:
		c.Latest, c.Manners, c.At = latest.Draw(t, "latest"), mostlyRight.Draw(t, "manners"), number("at", 2)
	case twice:
		c.Latest, c.Manners = latest.Draw(t, "latest"), manners.Draw(t, "manners")
	case alter:
		c.Latest, c.Alter, c.Position = latest.Draw(t, "latest"), rapid.SampledFrom(alterations).Draw(t, "alteration"), number("position", 1000)
	case transplant:
		c.Latest, c.Move, c.Tool = latest.Draw(t, "latest"), rapid.SampledFrom(moves).Draw(t, "move"), number("tool", 3)
	case restart:
		c.At, c.Reworded = rapid.SampledFrom([]int{0, 0, 1, elsewhere}).Draw(t, "at"), rapid.Bool().Draw(t, "reworded")
		c.Killed = rapid.Bool().Draw(t, "killed")
	case wait:
		c.Wait = rapid.SampledFrom(waits).Draw(t, "duration")
	}
	return c
})

// latest prefers the newest of the rounds.
var latest = rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 3, 5, 8})

var mostlyRight = rapid.SliceOfN(rapid.SampledFrom([]manner{right, right, right, right, other, declined}), 2, 2)

var manners = rapid.SliceOfN(rapid.SampledFrom(mannersOfUsers), 2, 2)

// GoString keeps rapid's own account of a script short: the story that fails is
// told in full by [Play].
func (s Script) GoString() string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = fmt.Sprintf("%s as %s", plans[t.Plan].name, t.Style)
	}
	return fmt.Sprintf("%d commands for %s", len(s.Commands), strings.Join(names, ", "))
}
