package main

import (
	"context"
	"errors"
)

// acceptDefaults agrees to a form without filling it in: the client adds what
// the form proposes.
func acceptDefaults(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, accepts(map[string]any{}), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	return call(ctx, session, "test_client_elicitation_defaults", nil)
}

// answerRounds goes along with incomplete results. The client itself calls
// again, with the answers, and with the state where there was one.
func answerRounds(ctx context.Context, at *setting) error {
	session, err := connect(ctx, at, accepts(map[string]any{"confirmed": true}), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	var failed error
	for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
		failed = errors.Join(failed, call(ctx, session, tool, nil))
	}
	return failed
}
