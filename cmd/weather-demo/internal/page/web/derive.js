// Which lines a run of a handler passed. The server tells where a handler was
// entered, which question ended a round, and when an audit line was written; the
// handlers are straight lines between guards, so the way in between is known. A
// line that is not certain is not in the trace.

// walk follows one run. A run begins at the top of a part, or behind the
// statement where the handler was held.
//
//   ended.asked     the keys of the questions that ended the run
//   ended.error     the error that ended it: its type, and the key it names
//   ended.again     whether the engine entered the handler again at once, because
//                   the question had a default for a client that cannot be asked
//   audits          the audit events of the run, taken out as they are passed
//   legacy          whether the client is one
//   answer          the action of the answer that the held handler went on with
//
// It returns the trace and, where the run stopped at a question, its statement.
export function walk(part, { engine, ended, audits = [], legacy = false, heldAt = null, answer = "accept" }) {
	const trace = [];
	const left = audits; // shared by the parts of one run
	const run = { trace, stoppedAt: null };
	const pass = (from, to = from, kind = "ran") => {
		for (let line = from; line <= to; line++) trace.push({ line, kind });
	};

	// follow returns true when the run has ended in these statements.
	const follow = (body) => {
		let failed = false; // the last statement returned an error
		let missing = null; // the last Answer found none
		for (const [i, s] of body.entries()) {
			switch (s.kind) {
				case "if-err":
					pass(s.from);
					if (failed) {
						follow(s.body);
						return true;
					}
					break;
				case "if-missing":
					pass(s.from);
					if (missing) {
						const [ask] = s.body;
						pass(ask.from, ask.to);
						stop(missing, ask.to);
						return true;
					}
					break;
				case "if-legacy":
					pass(s.from);
					if (legacy && follow(s.body)) return true;
					break;
				case "answer":
					pass(s.from, s.to);
					if (stopsAt(s)) missing = s;
					break;
				case "ask":
				case "over":
					pass(s.from, s.to);
					if (stopsAt(s)) {
						stop(s, s.to);
						if (engine !== "rerun") return true;
						failed = true; // this engine hands the handler an error to return
					}
					break;
				case "once":
					if (left.length > 0) {
						pass(s.from);
						follow(s.body);
						pass(s.to);
					} else {
						pass(s.from);
						for (const inner of s.body) if (inner.kind === "effect") pass(inner.from, inner.to, "remembered");
					}
					break;
				case "effect":
					pass(s.from, s.to, left.length > 0 ? "effect" : "ran");
					left.shift();
					break;
				case "return":
					pass(s.from, s.to);
					if (part.key && ended.asked?.includes(part.key)) stop(s, s.to);
					return true;
				default:
					pass(s.from, s.to);
					failed = i === 0 && ended.error?.type === "not_found";
			}
		}
		return false;
	};

	const stopsAt = (s) => {
		if (ended.again) return s.default;
		if (ended.error?.type === "client_cannot_be_asked") return s.key === ended.error.key;
		return Boolean(ended.asked?.includes(s.key));
	};
	const stop = (s, line) => {
		trace.findLast((t) => t.line === line).stop = true;
		run.stoppedAt = s;
	};

	if (!heldAt) {
		follow(part.body);
		return run;
	}
	const rest = bodyAfter(part.body, heldAt);
	if (answer !== "accept") {
		// A no is an error to whoever asked over the session.
		const [guard] = rest;
		pass(guard.from);
		follow(guard.body);
	} else {
		follow(rest);
	}
	return run;
}

// bodyAfter is what stands behind a statement, in the body that it is in.
function bodyAfter(body, statement) {
	const at = body.findIndex((s) => s.from === statement.from);
	if (at >= 0) return body.slice(at + 1);
	return bodyAfter(body.find((s) => s.from < statement.from && s.to >= statement.to).body, statement);
}
