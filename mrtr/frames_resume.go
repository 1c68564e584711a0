package mrtr

import "context"

// takeFrame finds the linear run of this call, nil where one has to be started. A
// frame that is gone ends the call, unless its style can replay the journal.
func (c *Call) takeFrame(how linearStyle) (*linearRun, error) {
	if c.linear != nil { // entered again in the same round
		return c.linear, nil
	}
	if r := c.rt.frames.take(c.st.frame); r != nil {
		c.linear = r
		return r, nil
	}
	// A forwarded round goes on where its frame is, or nowhere.
	if c.st.round > 1 && (!how.replays || c.ex.forwarded != nil) {
		return nil, &Error{Reason: FrameGone}
	}
	return nil, nil
}

// startRun counts in a run that is entered for the first time.
func (c *Call) startRun(ctx context.Context, r *linearRun) error {
	if err := c.rt.frames.enter(r); err != nil {
		return err
	}
	c.linear = r
	c.observe(ctx, Event{Kind: HandlerEntered})
	return nil
}

// holdFrame parks the run of a call that waits for answers, and puts the frame's
// token into the state.
func (c *Call) holdFrame() error {
	r := c.linear
	if r == nil {
		return c.keepFrame()
	}
	r.releaseRound()
	token, err := c.rt.frames.park(r)
	if err != nil && r.how.replays { // the journal will do
		r.release(err)
		err = nil
	}
	c.st.useFrame(token)
	return err
}

// keepFrame keeps the frame of a call that asks again without its handler.
func (c *Call) keepFrame() error {
	if c.st.frame == "" || c.holder() != "" { // nothing is held, or not here
		return nil
	}
	token := ""
	if c.remembered() { // the states of one turn are worth the same
		token = c.rt.frames.extend(c.st.frame)
	} else {
		token = c.rt.frames.rename(c.st.frame)
	}
	c.st.useFrame(token)
	if token == "" && !c.target.replays {
		return &Error{Reason: FrameGone}
	}
	return nil
}

// abandonFrame unwinds the linear run of a call that has ended, if one is held, tells it
// why, and hands out the functions that it registered with [Call.OnStop].
func (c *Call) abandonFrame(cause error) (held bool, stops []func(context.Context, error)) {
	r := c.rt.frames.take(c.st.frame)
	if r == nil {
		r = c.linear
	}
	if r == nil {
		return false, nil
	}
	stops = r.call.takeStops()
	r.end(cause)
	return true, stops
}

// abandoned tells the observer of a frame that was unwound without an answer.
func (rt *Runtime) abandoned(r *linearRun, reason string) {
	r.call.observe(context.Background(), Event{Kind: CallAbandoned, Reason: reason})
}
