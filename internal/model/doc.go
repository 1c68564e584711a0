// Package model explores the round engine of package mrtr at random and compares
// it with a model of its promises where nothing but the client remembers
// a call (docs/without-a-store.md).
//
// A [Script] is a list of commands: start a call, answer it well or badly, send a
// request again, send a state that was altered or belongs to another request,
// restart an instance, let time pass, run a legacy client's whole call. [Play] gives
// them to real servers, over the raw client of internal/wire, and to the model. The
// model predicts for each request
//
//   - whether it is answered by questions, a result, an error result or a JSON-RPC
//     error, and the reason of the error;
//   - the keys and the wording of the questions;
//   - the effects that it runs, each with its idempotency key;
//   - the text of the final result, which names every answer and the value of every
//     effect, so that a call that reads another chain's answers is found out.
//
// The first request on which the two disagree ends the script, and the error tells
// the whole story up to there. Property tests with rapid make the scripts, and
// shorten one that fails.
//
// The model knows the tools as data ([plan]): it shares no code with the engine and
// keeps no token, only the meaning of each one that it was given.
package model
