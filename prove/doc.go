// Package prove judges a tool that asks its users, in any language, by named
// rules. It is a client: it makes the tool's calls honestly, then with states
// that were altered, answers that do not fit, rounds that are repeated, and
// clients that cannot be asked, and says of each rule whether the server kept it.
//
//	report, err := prove.Run(ctx, prove.Subject{Dial: prove.HTTP("http://127.0.0.1:8080/mcp", nil)}, prove.Scenario{
//		Tool:      "weather_native",
//		Arguments: map[string]any{"location": "Lisbon"},
//	}, nil)
//	fmt.Print(report)
//
// The tool is really called, hundreds of times: prove a server whose effects harm
// nobody. A dry run ([Options]) says how often, and which rules will be tried, without a call.
//
// # Subjects
//
// A [Subject] is a server with abilities. Dial is enough to begin with. Each
// further ability (an instance with the same secrets, a second caller, a count of
// effects) lets more rules be tried. A rule that needs an ability which is missing is
// skipped, and its [Finding] names the ability. [HTTP] and [Command] make the Dial of
// the simplest subjects.
//
// # Outcomes
//
// A rule passes, fails, is skipped, or leaves a note: something worth knowing
// that the rule does not forbid, such as a retry that has its effect again where
// nobody asked for single use. [Rules], [TaskRules] and [SweepRules] have the level of
// each: a MUST or a SHOULD of the specification (revision 2026-07-28), or Ours, which the
// specification does not demand.
//
// Two runs against the same server find the same: states are shown by the way they were
// altered, and no times are kept. The number of calls may differ, because the spelling of a
// state, which is drawn anew, decides in how many ways it can be altered.
package prove
