// Package tasks serves tools as tasks: the extension io.modelcontextprotocol/tasks (SEP-2663)
// of revision 2026-07-28. Where a tool's policy makes a call a task, a client that declares
// the extension gets its id instead of the result, polls it with tasks/get, answers its
// questions with tasks/update, and may end it with tasks/cancel.
//
//	mrtr.Add(server, rt, tool, linear.Journal(book), &mrtr.HandlerOptions{
//		Task: mrtr.TaskPolicy{After: 2 * time.Second},
//	})
//	m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
//	...
//	defer m.Close() // before the runtime
//
// A task is a modern client inside the server: it calls the handler, shows the questions of
// its result in tasks/get, and calls again with the answers and the state. So a handler of
// any style is a task without a change, and a task keeps the same things as a client. With a store
// that several instances share, any of them answers for every task, and takes it over if the
// instance that worked on it has fallen silent.
//
// Over HTTP and WebSocket a client need not poll: it names its tasks in subscriptions/listen,
// at any instance, and is told each state until they end.
//
//   - A task that nobody polls or listens to is not taken over: it waits for its next poll.
//   - The session that a handler sees after a takeover is that of the request which took the
//     task over.
//   - A coroutine goes on only at the instance that holds it: if another one gets the answers,
//     or its process has ended, its task ends and says so.
//   - A task that is cancelled undoes the effects of its call (mrtr.Style.OnStop), at whichever
//     instance. With a store, so does one that waits until its call has expired.
package tasks
