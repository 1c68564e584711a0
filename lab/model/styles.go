package model

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

type input struct {
	Ref  string `json:"ref"`
	Size int    `json:"size"`
}

type output struct {
	Told string `json:"told"`
}

type style = mrtr.Style[input, output]

// build makes the tool's style, with its questions in one of their wordings.
func (t *tool) build(d *door, w int) style {
	undo := mrtr.UndoOf(undoable, d.undo)
	switch t.style {
	case native, once:
		return mrtr.Native(t.guarded(d, w)).OnStop(undo)
	case stepList:
		return t.stepwise(d, w)
	case coroutine:
		return linear.Coroutine(t.reading(d, w)).OnStop(undo)
	case journal:
		return linear.Journal(t.reading(d, w)).OnStop(undo)
	case resumable:
		return linear.Resumable(t.reading(d, w)).OnStop(undo)
	case answered:
		return t.answered(d, w).OnStop(undo)
	case versions:
		return mrtr.ByVersion(mrtr.Native(t.guarded(d, w)), mrtr.Native(t.overSession(d, w))).OnStop(undo)
	}
	panic("no such style: " + t.style)
}

// guarded is the tool as guards. Only the native style has its effects bare, below
// the last guard.
func (t *tool) guarded(d *door, w int) mrtr.GuardedFunc[input, output] {
	return func(ctx context.Context, c *mrtr.Call, in input) (*mrtr.IncompleteResult, output, error) {
		told := make(told, len(t.plan.items))
		var ran map[string]int
		if t.style == native {
			ran = map[string]int{}
		}
		for _, i := range t.order() {
			it := t.plan.items[i]
			for _, q := range it.ask {
				read, ok := q.worded[w].read(c)
				if !ok {
					return mrtr.Need(asking(it.ask, w)...), output{}, nil
				}
				told.answer(i, q.key, read)
			}
			if told.quits(it) {
				return nil, output{}, quit
			}
			if err := t.run(ctx, c, d, i, ran, told); err != nil {
				return nil, output{}, err
			}
		}
		return nil, output{in.Ref + " " + told.String()}, nil
	}
}

// run runs the effect of an item, if it has one, and notes its outcome: guarded by Once, or
// bare and once in this entry if ran remembers those that ran. It returns the error that
// ends the call.
func (t *tool) run(ctx context.Context, c *mrtr.Call, d *door, i int, ran map[string]int, told told) error {
	it := t.plan.items[i]
	if it.effect == "" {
		return nil
	}
	for j := range i { // a key stands for one effect, which is asked for again where it failed
		if it.repeats && ran == nil {
			break
		}
		if earlier := &t.plan.items[j]; earlier.effect == it.effect && told.happened(j) {
			told[i] = told[j]
			return nil
		}
	}
	value, ok := ran[it.effect]
	var err error
	switch {
	case ran == nil:
		value, err = mrtr.Once(ctx, c, it.effect, func(ctx context.Context, idem string) (int, error) { return d.serve(ctx, c, it.effect, idem) }, it.options(d))
	case !ok:
		if value, err = d.serve(ctx, c, it.effect, ""); err == nil {
			ran[it.effect] = value
		}
	}
	switch {
	case err == nil:
		told.effect(i, it.effect, value)
	case it.tolerant:
		told.failed(i, it.effect)
		err = nil
	}
	if err == nil {
		err = d.stall(ctx)
	}
	return err
}

// undoable is the effect that every tool undoes if its call stops.
const undoable = "hold"

// quit ends a call that its user does not want.
var quit = &mrtr.Error{Reason: mrtr.Declined, Detail: "the user does not want it"}

// reading is the tool as linear code.
func (t *tool) reading(d *door, w int) linear.Func[input, output] {
	return func(ctx context.Context, c *mrtr.Call, in input) (output, error) {
		told := make(told, len(t.plan.items))
		for _, i := range t.order() {
			it := t.plan.items[i]
			if it.effect != "" {
				if err := t.run(ctx, c, d, i, nil, told); err != nil {
					return output{}, err
				}
				continue
			}
			if told.quits(it) {
				return output{}, quit
			}
			if len(it.ask) == 0 {
				continue
			}
			if err := linear.AskAll(ctx, c, asking(it.ask, w)...); err != nil {
				return output{}, err
			}
			for _, q := range it.ask {
				read, _ := q.worded[w].read(c)
				told.answer(i, q.key, read)
			}
		}
		return output{in.Ref + " " + told.String()}, nil
	}
}

// answered is the tool with its answers given. The questions of an item depend on those of
// the item before, so that they go out in the same rounds as in the other styles.
func (t *tool) answered(d *door, w int) style {
	before := given.Question("begin", func(context.Context, input) (mrtr.Question[string], error) { return mrtr.Known(""), nil })
	texts, needs := map[*question]givenText{}, []given.Any[input]{before}
	for _, i := range t.order() {
		asks := t.plan.items[i].ask
		for _, q := range asks {
			texts[q] = q.worded[w].given(before)
			needs = append(needs, texts[q])
		}
		if len(asks) > 0 { // several are asked at the end alone
			before = texts[asks[0]]
		}
	}
	return given.All(func(ctx context.Context, at *given.At[input]) (output, error) {
		told := make(told, len(t.plan.items))
		for _, i := range t.order() {
			it := t.plan.items[i]
			for _, q := range it.ask {
				told.answer(i, q.key, texts[q].Of(at))
			}
			if told.quits(it) {
				return output{}, quit
			}
			if err := t.run(ctx, at.Call, d, i, nil, told); err != nil {
				return output{}, err
			}
		}
		return output{at.In.Ref + " " + told.String()}, nil
	}, needs...)
}

// overSession is the tool for a legacy client whose session is asked in place.
func (t *tool) overSession(d *door, w int) mrtr.GuardedFunc[input, output] {
	return func(ctx context.Context, c *mrtr.Call, in input) (*mrtr.IncompleteResult, output, error) {
		told, ran := make(told, len(t.plan.items)), map[string]int{}
		for i, it := range t.plan.items {
			for _, q := range it.ask {
				read, err := q.worded[w].over(ctx, c)
				if err != nil {
					return nil, output{}, err
				}
				told.answer(i, q.key, read)
			}
			if err := t.run(ctx, c, d, i, ran, told); err != nil {
				return nil, output{}, err
			}
		}
		return nil, output{in.Ref + " " + told.String()}, nil
	}
}

// stepwise is the tool as a list of steps. An effect that the plan names twice is one
// step.
func (t *tool) stepwise(d *door, w int) style {
	var list list
	reads := make([]func(told, *at), len(t.plan.items))
	ran := map[string]steps.Step[int]{}
	for _, i := range t.order() {
		it := t.plan.items[i]
		if it.effect != "" {
			step, ok := ran[it.effect]
			if !ok {
				step = steps.Do(&list, it.effect, func(ctx context.Context, at *at, idem string) (int, error) {
					return d.serve(ctx, at.Call, it.effect, idem)
				}, it.options(d))
				ran[it.effect] = step
				if it.effect == undoable {
					steps.OnStop(&list, step, d.undo)
				}
			}
			reads[i] = func(told told, at *at) { told.effect(i, it.effect, step.Of(at)) }
			continue
		}
		of := make([]func(*at) string, len(it.ask))
		for n, q := range it.ask {
			of[n] = q.worded[w].step(&list, n > 0)
		}
		reads[i] = func(told told, at *at) {
			for n, q := range it.ask {
				told.answer(i, q.key, of[n](at))
			}
		}
	}
	list.End(func(_ context.Context, at *at) (output, error) {
		told := make(told, len(t.plan.items))
		for _, read := range reads {
			if read != nil {
				read(told, at)
			}
		}
		return output{at.In.Ref + " " + told.String()}, nil
	})
	return list.MustBuild()
}

func asking(questions []*question, w int) []mrtr.AnyQuestion {
	all := make([]mrtr.AnyQuestion, len(questions))
	for i, q := range questions {
		all[i] = q.worded[w].asking
	}
	return all
}
