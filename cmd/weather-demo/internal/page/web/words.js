// Every sentence that Play says about a call.

import { textOf } from "./story.js";

const name = (instance) => `instance ${instance.toUpperCase()}`;
const Name = (instance) => `Instance ${instance.toUpperCase()}`;
const lines = (n) => `${n} audit line${n === 1 ? "" : "s"}`;
const times = (n) => ["", "once", "twice"][n] ?? `${n} times`;

export const tour = [
	{ title: "Answer a question", preset: { style: "native", place: "Lisbon" }, caption: "Press Call. The tool will need to know which units you want, and it cannot wait for you." },
	{ title: "See an effect happen twice", preset: { style: "naive", place: "Lisbon" }, caption: "The style naive writes to the audit log above its question. Press Call, answer, and watch the counter." },
	{ title: "Open the sealed state", preset: { style: "once", place: "Springfield" }, goal: "opened", caption: "Press Call, and answer the first question. Then open the state that comes back: your answer is in it." },
	{ title: "Kill the server while it waits", preset: { style: "native", place: "Lisbon" }, goal: "killed", caption: "Press Call. When the tool asks, kill instance A. Then answer." },
	{ title: "Change one byte", preset: { style: "native", place: "Lisbon" }, goal: "changed", caption: "Press Call. Change one byte of the state that you are given, and answer." },
	{ title: "Be a legacy client", preset: { style: "sse_shim", place: "Lisbon", legacy: true }, caption: "Press Call. This client is from before 2026-07-28: it makes one request, and is asked while it waits." },
];

// missed is said if a step of the tour ended without its point.
export const missed = {
	opened: "The state stayed closed",
	killed: "Nothing was killed",
	changed: "No byte was changed",
};

export const groups = [["effect", "how the effect happens only once"], ["legacy", "how legacy clients are asked"], ["exhibit", "how it goes wrong"]];

// opening is said before a call that is no step of the tour.
export function opening({ style, place, legacy }, { lesson }) {
	if (place === "Atlantis") return "Press Call. There is no such place, so the tool will fail before it asks.";
	if (legacy) return tour[5].caption;
	return style === "native" ? tour[0].caption : `Press Call. ${lesson}`;
}

// running is said while a round plays.
export function running({ legacy, requests, runs, handler }) {
	if (legacy) return runs > 1 ? "Your answer went out over the same connection. The request is still the first one." : "The request is with the server, and stays open.";
	if (requests < 2) return "The handler runs, from its top.";
	if (handler.engine === "Coroutine") return "Your answer is back at the server.";
	return `Round ${requests}. ${handler.engine === "Given" ? "Is any answer missing?" : "The handler runs again, from its top."}`;
}

// asked is said when the call waits for its user.
export function asked({ items, pending, held, handler }) {
	const { instance, holds } = items.at(-1);
	const keys = pending.map((k) => `"${k}"`).join(" and ");
	const last = items.findLast((i) => i.kind === "run" || i.kind === "stamp");
	if (last.kind === "stamp") return `The answer to ${keys} did not fit, so the engine asked again. The handler was not entered.`;
	const stop = last.trace.findLast((t) => t.stop)?.line;
	if (holds === "stream") {
		return `The handler ${held ? `asks at line ${stop}, and waits there` : `returned its question at line ${stop}, and the bridge asks it`}. ${Name(instance)} holds the open connection until you answer.`;
	}
	if (holds === "handler") return `The handler stopped at line ${stop} and stays there: ${name(instance)} holds it until you answer. The state says which one it is.`;
	const part = { Steps: "step", Given: "function" }[handler.engine];
	return `${part ? `The ${part} for ${keys} returned its question at line ${stop}.` : `The handler ran down to line ${stop}, found no answer to ${keys}, and returned the question.`} ${Name(instance)} keeps nothing. What the next round needs is in the sealed state.`;
}

export function killed({ handler, legacy }, instance) {
	if (legacy) return cutOff(instance);
	const held = { Coroutine: "It held the handler of this call, which is gone with it.", Resumable: "It held the handler of this call; what the handler did is also in the state." }[handler.engine];
	return `${Name(instance)} is gone. ${held ?? "It held nothing of this call."} Answer: ${name(instance === "a" ? "b" : "a")} has the same key.`;
}

export const cutOff = (instance) => `${Name(instance)} is gone, and the open request with it: the call cannot go on. A legacy client's call lives on one server.`;

// A connection that nobody has killed may be lost as well: while a question is open,
// and then back; or for good.
export const adrift = "The connection to both instances is lost. The call is not: your client has the question and the sealed state.";
export const joined = "The connection is back. Answer, and the call goes on.";

export function lost({ legacy }, waited) {
	if (legacy) return "The connection is lost, and the open request with it: a legacy client's call cannot go on. Call again when it is back.";
	return waited ? "The server was started again with another key, and cannot open the state that you hold. One that keeps its key would go on."
		: "The connection was lost before the response came. Whether the handler ran, no client can know. Call again when it is back.";
}

const replayed = "ran again from its top, with the answers and the audit replayed from the sealed state.";

// ended is said when the call is over.
export function ended(story) {
	const { result, handler, style, facts, requests, items } = story;
	const audits = story.audits.length;
	const stamp = items.findLast((i) => i.kind === "stamp");
	const last = items.findLast((i) => i.kind === "run");
	if (result.error) return `The ${facts.changed ? "changed state" : "request"} was refused before the handler was entered. The client is not told why; the server's log says ${stamp?.reason ?? "nothing of it"}.`;
	if (result.result.isError) return failed(textOf(result.result), stamp, audits);
	if (story.legacy) return legacyEnd(story, audits);
	if (audits > 1) return `Line ${story.audits[0].line} writes to the audit log and stands above a question, so it ran in every round from there on: ${lines(audits)} for one call.`;
	const other = facts.asker !== facts.answered ? `${Name(facts.answered)} finished a call that it had never seen. ` : "";
	if (last.resumed) return `The handler went on behind line ${last.trace[0].line - 1}, where it was held. ${handler.engine === "Coroutine" ? "Nothing ran twice." : "Had its instance been gone, it would have been replayed."}`;
	switch (style.name) {
		case "resumable": return `${other}The handler that was held is not there, so the function ${replayed}`;
		case "journal": return `${other}The very function of style coroutine, and nothing held: it ${replayed}`;
		case "steps": return `${other}Your answer went out as a second call. The step that audits had run and was not run again: ${lines(audits)}.`;
		case "given": return `${other}Nothing was missing, and the handler was entered, once: ${lines(audits)}.`;
		case "once": return `${other}The handler ran again from its top. Once found the audit in the sealed state and did not run it again: ${lines(audits)}.`;
	}
	const again = last.trace.filter((t) => t.again).map((t) => t.line);
	return `${other}Your answer went out as a ${["", "first", "second", "third"][requests]} call. Lines ${Math.min(...again)} to ${Math.max(...again)} ran again; the audit stands below the last question, so it ran once.`;
}

function failed(text, stamp, audits) {
	if (stamp?.error === "frame_gone") return "The state opened, but the handler it names was held by another instance. This is the price of style coroutine; with the switch to replay, it would have gone on.";
	if (/was (declined|cancelled)/.test(text)) return `You said no. The call ends with an error result that the model can read${stamp ? ", and the handler is not entered again" : ""}. Audit lines: ${audits}.`;
	return `The tool found no such place, before it asked anything. Its error is a result that the model can read. Audit lines: ${audits}.`;
}

function legacyEnd({ entries }, audits) {
	if (audits > 1) return `One request from first to last, and ${lines(audits)}: the bridge entered the handler ${times(entries)}, past an audit that stands above its question.`;
	return `One request from first to last. The handler was entered ${times(entries)}${entries > 1 ? " in it, and the client saw none of that." : ", and waited on the server until you answered."}`;
}
