// Which lines a run of a handler passed. The server tells where a handler was
// entered, which question ended a round, and when an audit line was written; the
// handlers are straight lines between guards, so the way in between is known. A
// line that is not certain is not in the trace.

// walk follows one run, from the top of a part or from behind the statement where
// the handler was held. It knows
//
//   ended.asked   the keys of the questions that ended the run
//   ended.error   the type of the error that ended it, and ended.key, which it names
//   ended.again   that the engine entered the handler again at once, because the
//                 question had a default for a client that cannot be asked
//   audits        the audit events of the run, taken out as they are passed
//   refused       that the answer to the held handler was a no
//
// and returns the trace and, where the run stopped at a question, its statement.
export function walk(part, { engine, ended, audits, legacy, heldAt, refused }) {
	const trace = [];
	let stoppedAt = null;
	const pass = (from, to = from, kind = "ran") => {
		for (let line = from; line <= to; line++) trace.push({ line, kind });
	};
	const stop = (s, line) => {
		trace.findLast((t) => t.line === line).stop = true;
		stoppedAt = s;
	};
	const stopsAt = (s) => (ended.again ? s.default : ended.error === "client_cannot_be_asked" ? s.key === ended.key : ended.asked?.includes(s.key));

	// follow returns true when the run has ended in these statements.
	const follow = (body, failed = false) => {
		let missing = null; // the last Answer found none
		for (const [i, s] of body.entries()) {
			switch (s.kind) {
				case "if-err":
					pass(s.from);
					if (failed) return follow(s.body);
					break;
				case "if-missing":
					pass(s.from);
					if (missing) {
						follow(s.body);
						stop(missing, s.body[0].to);
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
					if (!stopsAt(s)) break;
					stop(s, s.to);
					if (engine !== "rerun") return true;
					failed = true; // that engine hands the handler an error to return
					break;
				case "once":
					pass(s.from);
					if (audits.length) {
						follow(s.body);
						pass(s.to);
					} else for (const inner of s.body) if (inner.kind === "effect") pass(inner.from, inner.to, "remembered");
					break;
				case "effect":
					pass(s.from, s.to, audits.shift() ? "effect" : "ran");
					break;
				case "return":
					pass(s.from, s.to);
					if (part.key && ended.asked?.includes(part.key)) stop(s, s.to);
					return true;
				default:
					pass(s.from, s.to);
					failed = i === 0 && ended.error === "not_found";
			}
		}
		return false;
	};

	follow(heldAt ? behind(part.body, heldAt) : part.body, refused);
	return { trace, stoppedAt };
}

// behind is what stands behind a statement, in the body that it is in.
function behind(body, { from }) {
	const at = body.findIndex((s) => s.from === from);
	return at < 0 ? behind(body.find((s) => s.from < from && s.to > from).body, { from }) : body.slice(at + 1);
}
