// Every sentence in which the page tells what happened.

import { textOf } from "./story.js";

const upper = (instance) => `instance ${instance.toUpperCase()}`;
const Upper = (instance) => `Instance ${instance.toUpperCase()}`;
const lines = (n) => `${n} audit line${n === 1 ? "" : "s"}`;

export const tour = [
	{ title: "Answer a question", style: "native", place: "Lisbon", caption: "Press Call. The tool will need to know which units you want, and it cannot wait for you." },
	{ title: "See an effect happen twice", style: "naive", place: "Lisbon", caption: "The style naive writes to the audit log above its question. Press Call, answer, and watch the counter." },
	{ title: "Open the sealed state", style: "once", place: "Springfield", goal: "opened", caption: "Press Call, and answer the first question. Then open the state that comes back: your answer is in it." },
	{ title: "Kill the server while it waits", style: "native", place: "Lisbon", goal: "killed", caption: "Press Call. When the tool asks, kill instance A. Then answer." },
	{ title: "Change one byte", style: "native", place: "Lisbon", goal: "changed", caption: "Press Call. Change one byte of the state that you are given, and answer." },
	{ title: "Be a legacy client", style: "sse_shim", place: "Lisbon", legacy: true, caption: "Press Call. This client is from before 2026-07-28: it makes one request, and is asked while it waits." },
];

const missed = {
	opened: "The state was not opened this time. Call again, and open it when the tool asks.",
	killed: "Nothing was killed this time. Call again, and kill the instance when the tool asks.",
	changed: "No byte was changed this time. Call again, and change one before you answer.",
};

// missedGoal is said where a step of the tour ended without its point.
export const missedGoal = (goal) => missed[goal];

export const places = {
	Lisbon: "",
	Tokyo: "",
	Reykjavik: "",
	Springfield: "There are three, so you will be asked twice.",
	Atlantis: "There is none.",
};

export const groups = [
	["effect", "how an effect stays single"],
	["legacy", "what legacy clients get"],
	["exhibit", "how it goes wrong"],
];

// running is said while a round plays.
export function running(story) {
	if (story.legacy) return story.runs > 1 ? "Your answer went out over the same connection. The request is still the first one." : "The request is with the server, and stays open.";
	if (story.requests < 2) return "The handler runs, from its top.";
	return story.handler.engine === "Coroutine" ? "Your answer is back at the server." : `Round ${story.requests}. The handler runs again, from its top.`;
}

// asked is said when the call waits for its user.
export function asked(story) {
	const gap = story.items.at(-1);
	const key = story.pending.map((k) => `"${k}"`).join(" and ");
	const run = story.items.findLast((i) => i.kind === "run");
	const stop = run?.trace.findLast((t) => t.stop)?.line;
	if (story.items.findLast((i) => i.kind === "stamp" || i.kind === "run")?.kind === "stamp") {
		return `The answer to ${key} did not fit, so the engine asked again. The handler was not entered.`;
	}
	const at = upper(gap.instance);
	if (gap.holds === "stream") {
		return run?.trace.at(-1)?.stop && story.held
			? `The handler asks at line ${stop} and waits there: ${at} holds it, and the open connection, until you answer.`
			: `The handler returned its question at line ${stop}. The bridge asks it over the open connection, which ${at} holds until you answer.`;
	}
	if (gap.holds === "handler") return `The handler stopped at line ${stop} and stays there: ${at} holds it until you answer. The state says which one it is.`;
	const where = story.handler.engine === "Steps" ? `The step for ${key} returned its question at line ${stop}.` : `The handler ran down to line ${stop}, found no answer to ${key}, and returned the question.`;
	return `${where} ${Upper(gap.instance)} keeps nothing. What the next round needs is in the sealed state.`;
}

export function killed(story, instance) {
	const left = instance === "a" ? "b" : "a";
	const held = story.handler.engine === "Coroutine" ? "It held the handler of this call, which is gone with it." : story.handler.engine === "Resumable" ? "It held the handler of this call; what the handler did is also in the state." : "It held nothing of this call.";
	return `${Upper(instance)} is gone. ${held} Answer: ${upper(left)} has the same key.`;
}

export const cutOff = (instance) => `${Upper(instance)} is gone, and the open request with it: the call cannot go on. A legacy client's call lives on one server.`;

// ended is said when the call is over.
export function ended(story) {
	const { result } = story;
	const audits = story.audits.length;
	const stamp = story.items.findLast((i) => i.kind === "stamp");
	const last = story.items.findLast((i) => i.kind === "run");
	if (result.error) {
		if (story.facts.changed) return `The changed state was refused before the handler was entered. The client is not told why; the server's log says ${stamp?.reason ?? "nothing of this request"}.`;
		return `The request was refused before the handler was entered. The server's log says ${stamp?.reason ?? "no more"}.`;
	}
	if (result.result.isError) return failed(story, stamp, audits);
	if (story.legacy) return legacyEnd(story);
	const moved = story.facts.answered && story.facts.asker !== story.facts.answered;
	const engine = story.handler.engine;
	if (audits > 1) return twice(story, audits);
	if (engine === "Coroutine") return `The handler went on ${where(last)}, where it was held. Nothing ran twice.`;
	if (engine === "Resumable" && last.resumed) return `The handler went on ${where(last)}, where it was held. Had its instance been gone, it would have been replayed.`;
	const other = moved ? `${Upper(story.facts.answered)} finished a call that it had never seen. ` : "";
	if (engine === "Resumable") return `${other}The handler that was held is not there, so the function ran again from its top, with the answers and the audit replayed from the sealed state.`;
	if (engine === "Journal") return `${other}The very function of style coroutine, and nothing held: it ran again from its top, with the answers and the audit replayed from the sealed state.`;
	if (engine === "Steps") return `${other}Your answer went out as a second call. A step that has its answer is not run again; the end ran once: ${lines(audits)}.`;
	if (story.style.name === "once") return `${other}The handler ran again from its top. Once found the audit in the sealed state and did not run it again: ${lines(audits)}.`;
	const again = last.trace.filter((t) => t.again).map((t) => t.line);
	return `${other}Your answer went out as a ${ordinal(story.requests)} call. Lines ${Math.min(...again)} to ${Math.max(...again)} ran again; the audit stands below the last question, so it ran once.`;
}

const ordinal = (n) => ["", "first", "second", "third", "fourth"][n] ?? `${n}th`;
const where = (run) => (run ? `behind line ${run.trace[0].line - 1}` : "");

function twice(story, audits) {
	const counted = [...new Set(story.audits.map((a) => a.line))];
	const line = counted.length === 1 ? `Line ${counted[0]}` : `Lines ${counted.join(" and ")}`;
	if (story.style.name === "await") return `The code reads as if it waited at its question. It ran again from its top instead, past line ${counted[0]}: ${lines(audits)} for one call.`;
	return `${line} writes to the audit log and stands above a question, so it ran in every round from there on: ${lines(audits)} for one call.`;
}

function failed(story, stamp, audits) {
	if (stamp?.error === "frame_gone") return "The state opened, but the handler it names was held by another instance. This is the price of style coroutine; with the switch to replay, it would have gone on.";
	if (stamp?.error === "declined" || stamp?.error === "cancelled") {
		return `You said no. The call ends with an error result that the model can read, and the handler is not entered again. Audit lines: ${audits}.`;
	}
	const text = textOf(story.result.result);
	if (/declined|cancelled/.test(text)) return `You said no. The call ends with an error result that the model can read. Audit lines: ${audits}.`;
	if (/cannot be asked/.test(text)) return "This style does not ask legacy clients, and the question has no default. So the call is refused, with a reason that the model can read.";
	return `The tool found no such place, before it asked anything. Its error is a result that the model can read. Audit lines: ${audits}.`;
}

function legacyEnd(story) {
	const audits = story.audits.length;
	if (story.asked.length === 0) return `This style does not ask legacy clients: the question took its default. The handler was entered ${times(story.entries)} in one request, and audited once.`;
	if (audits > 1) return `One request from first to last, and ${lines(audits)}: the bridge entered the handler ${times(story.entries)}, past an audit that stands above its question.`;
	if (story.entries === 1) return "One request from first to last. The handler was entered once, and waited on the server until you answered.";
	return `One request from first to last. The handler was entered ${times(story.entries)} in it, and the client saw none of that.`;
}

const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${n} times`);
