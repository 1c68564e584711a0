package model

// The files in which mistakes are made.
const (
	answering = "mrtr/internal/question/judge.go"
	effects   = "mrtr/once.go"
	undos     = "mrtr/undo.go"
	histories = "mrtr/history.go"
	ledgers   = "mrtr/ledger.go"
	rounds    = "mrtr/round.go"
	seals     = "mrtr/seal.go"
	targets   = "mrtr/target.go"
	intents   = "mrtr/intent.go"
	stepLists = "mrtr/steps/list.go"
	givens    = "mrtr/given/given.go"
	runs      = "mrtr/linear/run.go"
	held      = "mrtr/linear/frames.go"
	linears   = "mrtr/linear/linear.go"
	turns     = "mrtr/durable/turn.go"
	record    = "mrtr/internal/claim/record.go"
	table     = "mrtr/internal/claim/table.go"
	heldTurn  = "mrtr/internal/claim/held.go"
	doubtful  = "mrtr/internal/claim/unconfirmed.go"
	sighting  = "internal/sighting/sighting.go"
)

// explored are mistakes that the exploration finds.
var explored = []fault{
	{what: "A decline counts as a fault.", file: "mrtr/errors.go",
		old: `return e.Reason == Declined || e.Reason == Cancelled`, new: `return !ON && e.Reason == Declined || e.Reason == Cancelled`},
	{what: "An answer that breaks the schema of its question is taken.", file: answering,
		old: "\tanswer, err := f.Accept(content, limit)\n", new: `	answer, err := f.Accept(content, limit)
	if value, e := json.Marshal(content); ON && e == nil {
		answer, err = value, nil
	}
`},
	{what: "The idempotency key of an effect that stands whatever the answers depends on them.", file: histories,
		old: `if free {`, new: `if free && !ON {`},
	{what: "A round that was answered otherwise gives its outcome.", file: table,
		old: `case r.fingerprint != h.turn.Fingerprint && r.fingerprint != "" &&`, new: `case !ON && r.fingerprint != h.turn.Fingerprint && r.fingerprint != "" &&`},
	{what: "A task that is cancelled ends without its handler.", file: "tasks/run.go",
		old: `if t.rec.Cancel && !t.rec.Engine {`, new: `if t.rec.Cancel && (ON || !t.rec.Engine) {`},
	{what: "A decline of a question that needs an answer counts as one.", file: answering,
		old: `if p.Lenient || p.Tells {`, new: `if p.Lenient || p.Tells || ON {`},
	{what: "An effect whose outcome nobody knows counts as one that failed.", file: effects,
		old: `a.doubtful || unreadable(err) != nil || inDoubt(ctx, err)`, new: `!ON && (a.doubtful || unreadable(err) != nil || inDoubt(ctx, err))`},
	{what: "An effect stands on no answer.", file: histories, by: "mrtr TestLivePrice",
		old: `if e.mayStand() && !e.free && at <`, new: `if !ON && e.mayStand() && !e.free && at <`},
	{what: "Once remembers an effect that failed as one that has run.", file: effects,
		old: `	return a.failed(f, doubt), meet(f)`, new: `	if ON {
		return entry{kind: listen.Happened, key: a.key, value: json.RawMessage("0")}, meet(f)
	}
	return a.failed(f, doubt), meet(f)`},
	{what: "A round that is let go of leaves its failures to the next request.", file: histories,
		old: `len(open) == 0 && end > 0 && all[end-1].isFailure()`, new: `!ON && len(open) == 0 && end > 0 && all[end-1].isFailure()`},
	{what: "The token of a frame can be used again.", file: held,
		old: `		t.unpark(r)
	}
	return r`, new: `		if t.unpark(r); ON {
			t.byToken[token] = r
		}
	}
	return r`},
	{what: "A call that ends keeps its frame.", file: linears,
		old: `	r := t.take(p)
	own := *p.Scratch()`, new: `	r := (*run)(nil)
	if !ON {
		r = t.take(p)
	}
	own := *p.Scratch()`},
	{what: "A late answer undoes again what its call's frame was undone for.", file: linears,
		old: `			t.tellOfEnd(p)`, new: `			if !ON {
				t.tellOfEnd(p)
			}`},
	{what: "A repeated request undoes what its call goes on with.", file: held,
		old: `if !kept && !r.how.replays {`, new: `if !ON && !kept && !r.how.replays {`},
	{what: "A frame outlives its time.", file: held,
		old: `+ t.limits.FrameTTL
	if`, new: `+ PICK(100*t.limits.FrameTTL, t.limits.FrameTTL)
	if`},
	{what: "Every client is asked everything, whatever it declared.", file: "mrtr/gate.go",
		old: `case asks && client.Declared(capability):`, new: `case asks && (ON || client.Declared(capability)):`},
	{what: "A client that hangs up cuts the effect that runs.", file: effects,
		old: `	if ctx == life { // all that could end it is what it is shielded from
		return bounded, end, nil
	}
	shielded, cancel := context.WithCancelCause(bounded)
	unhook := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled && life.Err() == nil {`, new: `	if ctx == life && !ON {
		return bounded, end, nil
	}
	shielded, cancel := context.WithCancelCause(bounded)
	unhook := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled && (ON || life.Err() == nil) {`},
	{what: "An idempotency key does not depend on the answers before its effect.", file: ledgers,
		old: `p.B = l.st.done.appendBasis(p.B, key, free)`, new: `if !ON {
		p.B = l.st.done.appendBasis(p.B, key, free)
	}`},
	{what: "A replay does not compare the wording of its questions.", file: runs,
		old: `case !r.own.Fits(q):`, new: `case !ON && !r.own.Fits(q):`},
	{what: "An effect that is asked for twice in one entry has its value both times.", file: effects,
		old: `if slices.Contains(p.used, a.key) {`, new: `if !ON && slices.Contains(p.used, a.key) {`},
	{what: "A legacy client gets the first round and no more.", file: "mrtr/tool.go",
		old: `if ex.client.Era == era.Modern || f.target.policy`, new: `if ON || ex.client.Era == era.Modern || f.target.policy`},
	{what: "A call that stops undoes nothing.", file: undos,
		old: `if len(undos) == 0 {`, new: `if len(undos) == 0 || ON {`},
	{what: "Once does not remember what has run.", file: effects,
		old: `		l.grow(ending, about)
`, new: `		if ON && ending.kind == listen.Happened {
			return
		}
		l.grow(ending, about)
`},
	{what: "A question is asked again without end.", file: answering,
		old: `if p.Tries++; p.Tries > MaxTries {`, new: `if p.Tries++; !ON && p.Tries > MaxTries {`},
	{what: "The round of a call with a store ends with its request.", file: turns,
		old: `if !n.t.Cancel && !n.w.unhook() {`, new: `if !ON && !n.t.Cancel && !n.w.unhook() {`},
	{what: "The rounds of a call are not counted.", file: seals,
		old: `if r.st.asked++; r.st.asked >`, new: `if r.st.asked++; !ON && r.st.asked >`},
	{what: "A round whose time is up is over for good, though its effects are noted.", file: rounds,
		old: `if r.runsAgain() {`, new: `if !ON && r.runsAgain() {`},
	{what: "A state opens for ever.", file: "statecodec/codec.go",
		old: `case now >= h.expires+skew:`, new: `case !ON && now >= h.expires+skew:`},
	{what: "A state is not bound to the arguments of its request.", file: seals,
		old: `Arguments: r.ex.arguments`, new: `Arguments: PICK(nil, r.ex.arguments)`},
	{what: "A state is not bound to its server.", file: seals,
		old: `Audience: r.target.Audience`, new: `Audience: PICK("", r.target.Audience)`},
	{what: "A state is not bound to the era and the session of its call.", file: seals,
		old: `if e := r.ex.client.Era; e != era.Modern {`, new: `if e := r.ex.client.Era; !ON && e != era.Modern {`},
	{what: "A state is not bound to its user.", file: seals,
		old: `Principal: r.principal, Audience`, new: `Principal: PICK("", r.principal), Audience`},
	{what: "A state is not bound to its tool.", file: seals,
		old: `Target: r.ex.name`, new: `Target: PICK("", r.ex.name)`},
	{what: "Steps take the yes to a Confirm for a yes to another wording of it.", file: stepLists, by: "mrtr TestLivePrice",
		old: `return isYesOrNo(s.typ) || p.Deployed()`, new: `return !ON && isYesOrNo(s.typ) || p.Deployed()`},
	{what: "Whoever takes over a round does not learn of its effects.", file: table,
		old: `a.Left, a.TookOver = r.effects`, new: `a.Left, a.TookOver = PICK(nil, r.effects)`},
	{what: "A task that goes on begins its call anew.", file: "tasks/record.go",
		old: `	r.Open, r.Status, r.Holder = nil, working, holder`, new: `	r.State = PICK("", r.State)
	r.Open, r.Status, r.Holder = nil, working, holder`},
	{what: "Answers to questions that were not asked are taken.", file: seals,
		old: `	r.st = st
	r.st.round++
	return nil`, new: `	r.st = st
	r.st.round++
	for key, response := range r.ex.answers {
		if a, ok := response.(*mcp.ElicitResult); ON && ok && r.st.done.answer(key) == nil {
			value, _ := json.Marshal(a.Content)
			r.st.done = r.st.done.file(entry{kind: listen.Answered, key: key, value: value})
		}
	}
	return nil`},
	{what: "A round that is left to the next request undoes its effects.", file: rounds,
		old: `	if !free {
		if failed := r.undo(`, new: `	if !free || ON {
		if failed := r.undo(`},
	{what: "A question that is asked again is worded by whoever asks it again.", file: seals,
		old: `was, seal := r.st.line, r.sealAsIs`, new: `was, seal := r.st.line, PICK(r.seal, r.sealAsIs)`},
	{what: "A handler can go on after an effect of its round was found in doubt.", file: effects,
		old: `		if l.notes != nil {
			l.give(err)`, new: `		if l.notes != nil && !ON {
			l.give(err)`},
}

// tested are mistakes that the tests of a package find.
var tested = []fault{
	{what: "A turn that has done nothing binds whoever comes next to its answers.", file: record, by: claims,
		old: `	if len(r.effects) == 0 && !r.cut {
		r.f`, new: `	if len(r.effects) == 0 && !r.cut && !ON {
		r.f`},
	{what: "A turn with effects binds nobody to its answers.", file: record, by: claims,
		old: `r.status, r.result = free, nil`, new: `r.status, r.result, r.effects = free, nil, PICK(nil, r.effects)`},
	{what: "The runs that were cut off are not recorded.", file: record, by: claims,
		old: `w.Number("cut", r.cutOff)`, new: `w.Number("cut", PICK(0, r.cutOff))`},
	{what: "Whether a holder notes its effects is read wrong.", file: record, by: claims,
		old: `r.notes = in.Flag("notes")`, new: `r.notes = in.Flag("notes") != ON`},
	{what: "A read that lags is a sign of life.", file: sighting, by: claims,
		old: `at <= last.at`, new: `(at == last.at || !ON && at < last.at)`},
	{what: "A fenced holder waits for a turn that is free.", file: table, by: claims,
		old: `case r.status == free && h.fenced:`, new: `case !ON && r.status == free && h.fenced:`},
	{what: "A holder that notes nothing is taken over.", file: table, by: claims,
		old: `return r.notes &&`, new: `return (r.notes || ON) &&`},
	{what: "A run that cannot go on is taken over.", file: table, by: claims,
		old: `goes.Goes(r.effects)`, new: `(ON || goes.Goes(r.effects))`},
	{what: "A turn is given up one attempt early.", file: table, by: claims,
		old: `r.cutOff+1 < attempts`, new: `r.cutOff+1 < attempts-PICK(1, 0)`},
	{what: "The runs that were cut off are not counted.", file: record, by: claims,
		old: `		r.cutOff++`, new: `		r.cutOff += PICK(0, 1)`},
	{what: "A fenced holder takes a turn over.", file: table, by: claims,
		old: `			case h.fenced:`, new: `			case h.fenced && !ON:`},
	{what: "The effects of a turn are lost in a takeover that is not confirmed.", file: heldTurn, by: claims,
		old: `h.has(r.effects)`, new: `h.has(PICK(nil, r.effects))`},
	{what: "Every turn that is taken was cut off.", file: table, by: claims,
		old: `r.cut
	}
	return a, false, nil`, new: `r.cut || ON
	}
	return a, false, nil`},
	{what: "A takeover that lost its race does not look again.", file: table, by: claims,
		old: `		return answer, again, err
	}
	h.start()`, new: `		return answer, again && !ON, err
	}
	h.start()`},
	{what: "A holder in this process is taken for dead.", file: table, by: claims,
		old: `		if !t.local {`, new: `		if !t.local || ON {`},
	{what: "A turn that cannot go on does not tell its effects.", file: table, by: claims,
		old: `Answer{Unknown: true, Left: r.effects,`, new: `Answer{Unknown: true, Left: PICK(nil, r.effects),`},
	{what: "The end of an effect is not written soon.", file: heldTurn, by: claims,
		old: `	h.beat.Reset(h.record.lease / soon)`, new: `	h.beat.Reset(h.record.lease / PICK(time.Duration(1), soon))`},
	{what: "A slow note is taken for one in time.", file: heldTurn, by: claims,
		old: `<= h.record.lease/2`, new: `<= h.record.lease*PICK(time.Duration(2), 1)/2`},
	{what: "A record that is gone fences nobody.", file: heldTurn, by: claims,
		old: `errors.Is(err, store.ErrNotFound) || err == nil && r.holder`, new: `!ON && errors.Is(err, store.ErrNotFound) || err == nil && r.holder`},
	{what: "A record of another holder fences nobody.", file: heldTurn, by: claims,
		old: `r.holder != h.record.holder:`, new: `r.holder != h.record.holder && !ON:`},
	{what: "A holder gives no second sign of life.", file: heldTurn, by: claims,
		old: `	_ = h.write(h.table.ctx)`, new: `	if ON {
		return
	}
	_ = h.write(h.table.ctx)`},
	{what: "A holder gives no sign of life after a note.", file: heldTurn, by: claims,
		old: `defer h.beat.Reset(h.record.lease / 3)`, new: `defer h.beat.Reset(PICK(time.Hour, h.record.lease/3))`},
	{what: "A claim that came late is not looked for behind a lagging read.", file: doubtful, by: claims,
		old: `err != nil, at < base:`, new: `err != nil, !ON && at < base:`},
	{what: "Only one's own late claim is disowned.", file: doubtful, by: claims,
		old: `own, at == base:`, new: `own, !ON && at == base:`},
	{what: "A first claim that comes late is not disowned.", file: doubtful, by: claims,
		old: `errors.Is(err, store.ErrNotFound) && base == 0`, new: `errors.Is(err, store.ErrNotFound) && base == PICK(store.Revision(1), 0)`},

	{what: "A turn is named without its answers.", file: "mrtr/turn.go", by: keeper + "TestDuplicatesWithAStore",
		old: `append(append(append(p.B, 0), value...), 0)`, new: `append(append(append(p.B, 0), PICK(nil, value)...), 0)`},
	{what: "A refused round keeps its turn.", file: turns, by: keeper + "TestARefusedRoundLeaves",
		old: `	if err := n.k.works.enter(n.w); err != nil {
		a.Held.LetGo(n.w, a.Left)`, new: `	if err := n.k.works.enter(n.w); err != nil {
		if !ON {
			a.Held.LetGo(n.w, a.Left)
		}`},
	{what: "A turn counts as seen whose questions came later.", file: "mrtr/turn.go", by: keeper + "TestAReplay$", explored: true,
		old: `Shared: r.st.turn < line.seen`, new: `Shared: r.st.turn < line.seen+PICK(1, 0)`},
	{what: "A branch that splits off keeps the effects of its call.", file: intents, by: keeper + "TestAReplay$", explored: true,
		old: `style: r.target.print, trace: old.trace}`, new: `style: r.target.print, trace: old.trace, done: PICK(old.done, nil)}`},
	{what: "Whoever takes a turn over leaves it to the branch that had it.", file: heldTurn, by: keeper + "TestABranchThatTakesOver", explored: true,
		old: `		if !r.since.IsZero() {
			h.record.since`, new: `		if ON {
			h.record.branch = r.branch
		}
		if !r.since.IsZero() {
			h.record.since`},
	{what: "A record of a first turn that nobody can read stands in the way.", file: table, by: keeper + "TestAnUnreadableFirstTurn", explored: true,
		old: `case errors.Is(err, errUnreadable) && h.turn.Over != nil &&`, new: `case !ON && errors.Is(err, errUnreadable) && h.turn.Over != nil &&`},
	{what: "An abandoned call is looked after when nobody can tell that it went on.", file: "mrtr/turn.go", by: keeper + "TestAnAbandonedCallIsUndone", explored: true,
		old: `last = r.due(time.UnixMilli(r.st.until)).Until.Add(time.Hour)`, new: `last = PICK(last, r.due(time.UnixMilli(r.st.until)).Until.Add(time.Hour))`},
	{what: "Nobody looks after a turn that was cut off in its first effect.", file: heldTurn, by: keeper + "TestAnAbandonedCall$",
		old: `	if len(effects) > 0 {`, new: `	if len(effects) > 0 && !ON {`},
	{what: "A call with a key has another id when its record is lost.", file: intents, by: keeper + "TestACallWithAKeyFindsItsPayment",
		old: `r.st.id = hex.EncodeToString(sum[:digest.IDLen/2])`, new: `r.st.id = PICK(r.st.id, hex.EncodeToString(sum[:digest.IDLen/2]))`},
	{what: "A runtime is closed before its calls are undone.", file: "mrtr/linear/frames.go", by: "mrtr TestAHeldHandlerThatIsLetGoIsUndone",
		old: `t.parked.places + t.undoing }`, new: `t.parked.places + PICK(0, t.undoing) }`},
	{what: "A doubt ends with its round.", file: histories, by: keeper + "TestDoubtAfterAFailure",
		old: `if e := all[end-1]; e.doubt {`, new: `if e := all[end-1]; e.doubt && !ON {`},
	{what: "A list of steps goes back past an effect.", file: "mrtr/pass.go", by: keeper + "TestATakeoverDoesNotGoBack",
		old: `ok = !l.st.done.standsOn(key); ok`, new: `ok = !l.st.done.standsOn(key) || ON; ok`},
	{what: "A call that was being undone completes.", file: ledgers, by: keeper + "TestACallThatWasBeingUndone",
		old: `effectsSince(l.base, open)`, new: `effectsSince(l.base, PICK(nil, open))`},
	{what: "A question is made twice in a round.", file: givens, by: "mrtr/given TestGivenAsksOnceInARound",
		old: `			at.asked[a] = q
`, new: `			if !ON {
				at.asked[a] = q
			}
`},
	{what: "Questions that could go together take a round each.", file: givens, by: "mrtr/given TestGivenTakesTheFewestRounds",
		old: `			open = append(open, q)`, new: `			open = append(open[:PICK(0, len(open))], q)`},
}

const (
	claims = "mrtr/internal/claim "
	keeper = "mrtr/durable "
)
