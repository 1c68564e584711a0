// What networks, impatient people, dishonest clients and dying servers do to a
// call. Each attack plays on a fresh call.

import { changeOneByte } from "./bench.js";
import { usual } from "./call.js";

// first makes the first request, and returns the token and what was asked.
async function first(call) {
	const { result } = await call.send("a", call.first());
	return { state: result.requestState, keys: Object.keys(result.inputRequests) };
}

const answers = (keys, values = usual) => Object.fromEntries(keys.map((k) => [k, values[k]]));

export const attacks = [
	{
		id: "resend",
		title: "Send the last answer again",
		reason: "The response was lost, or somebody pressed twice.",
		naive: "A server that does not ask itself whether it saw this request does everything again.",
		async run(call) {
			const { state, keys } = await first(call);
			const last = call.answering(state, answers(keys));
			await call.send("a", last);
			call.story.rule("the same request, again");
			await call.send("a", last);
		},
	},
	{
		id: "both",
		title: "Answer A and B at once",
		reason: "A retry overtakes the request it repeats.",
		naive: "Two servers that know nothing of each other both do it.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("the same request, to both");
			await call.sendBoth(call.answering(state, answers(keys)));
		},
	},
	{
		id: "replay",
		title: "Replay an old round",
		place: "Springfield",
		reason: "The client kept the first state, and sends it back with another answer.",
		naive: "A server that keeps a session overwrites the first answer and forgets that it acted on it.",
		async run(call) {
			const { state, keys } = await first(call);
			const second = await call.send("a", call.answering(state, answers(keys)));
			if (second.result?.requestState) await call.send("a", call.answering(second.result.requestState, { units: usual.units }));
			call.story.rule("the first state, another answer");
			const again = await call.send("a", call.answering(state, answers(keys, { place: "Springfield, Missouri" })));
			if (again.result?.requestState) await call.send("a", call.answering(again.result.requestState, { units: usual.units }));
		},
	},
	{
		id: "tamper",
		title: "Change one byte of the state",
		reason: "The client wants to be somebody else, or further on.",
		naive: "A server that sends its state unsigned believes whatever comes back.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("one byte of the state is changed");
			await call.send("a", call.answering(changeOneByte(state), answers(keys)), { changed: true });
		},
	},
	{
		id: "place",
		title: "Use the state for another place",
		reason: "The state is genuine, the arguments are not those it was sealed for.",
		naive: "A server that only checks the signature acts on what nobody was asked about.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("other arguments, the same state");
			const params = call.answering(state, answers(keys));
			await call.send("a", { ...params, arguments: { location: "Tokyo" } }, { showArguments: true });
		},
	},
	{
		id: "tool",
		title: "Use the state for another tool",
		reason: "The state of a harmless tool is handed to one that acts.",
		naive: "A server with one key for all tools takes the one's consent for the other's.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("another tool, the same state");
			const name = call.style.name === "native" ? "weather_once" : "weather_native";
			await call.send("a", { ...call.answering(state, answers(keys)), name });
		},
	},
	{
		id: "user",
		title: "Use somebody else's state",
		reason: "A state was copied from a log, or from another tab.",
		naive: "A server that does not bind a state to its caller lets anybody finish your call.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("another user, the same request");
			await call.send("a", call.answering(state, answers(keys)), { user: "mallory", warning: "sent by mallory" });
		},
	},
	{
		id: "late",
		title: "Answer too late",
		short: true,
		reason: "The state is sealed for an hour. Here, for 2 s.",
		naive: "A server without an expiry acts on an answer that somebody gave last year.",
		async run(call, { wait }) {
			const { state, keys } = await first(call);
			await wait(call.bench.life_ms + 100);
			call.story.rule("after 2 seconds");
			await call.send("a", call.answering(state, answers(keys)));
		},
	},
	{
		id: "other",
		title: "Answer on instance B",
		reason: "A load balancer sends the second round elsewhere.",
		naive: "A server that keeps the call in memory says that it never heard of it.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("the answer goes to B");
			await call.send("b", call.answering(state, answers(keys)));
		},
	},
	{
		id: "kill",
		title: "Kill the instance that asked",
		reason: "A deployment, a crash, a scale-down.",
		naive: "A server that waits for its user takes every open question down with it.",
		async run(call) {
			const { state, keys } = await first(call);
			await call.bench.kill("a");
			call.story.kill("a");
			call.story.rule("instance A is gone");
			await call.send("b", call.answering(state, answers(keys)));
		},
	},
	{
		id: "unoffered",
		title: "Answer what was not offered",
		reason: "The client does not check its user's answer.",
		naive: "A server that trusts the form puts whatever comes into its next query.",
		async run(call) {
			const { state, keys } = await first(call);
			call.story.rule("an answer that was no choice");
			await call.send("a", call.answering(state, Object.fromEntries(keys.map((k) => [k, "kelvin"]))));
		},
	},
];

// verdictOf says how an attack ended, in two words and a tone.
export function verdictOf(story) {
	const items = story.items.slice(story.items.findIndex((i) => i.kind === "rule"));
	const replies = items.filter((i) => i.kind === "message" && i.from === "server");
	const stamps = items.filter((i) => i.kind === "stamp");
	const audits = story.audits.length;
	const done = replies.filter((r) => r.title === "complete").length;
	const tell = (label, tone) => ({ label, tone, before: story.marked, after: audits });
	if (audits > story.marked && audits > 1) return tell(audits === 2 ? "effect twice" : `effect ${audits} times`, "effect");
	if (replies.length === 2 && done === 1) return tell("one wins", "fine");
	if (stamps.some((s) => s.error === "frame_gone")) return tell("handler gone", "refusal");
	if (stamps.some((s) => s.label === "refused")) return tell("refused", "refusal");
	if (stamps.some((s) => s.label === "stored")) return tell("stored result", "stored");
	if (stamps.some((s) => s.label === "asks again")) return tell("asked again", "fine");
	if (done === 0) return tell("error result", "refusal");
	return tell("completes", "fine");
}

// outcome says what happened, in a sentence or two.
export function outcome(attack, story, verdict, { store }) {
	const stamp = story.items.findLast((i) => i.kind === "stamp");
	const reason = stamp?.reason ? ` The client is not told why; the log says ${stamp.reason}.` : "";
	const { engine } = story.handler;
	const audits = story.audits.length;
	if (verdict.tone === "stored") return "The store remembers this round. The same answer gets the same result, byte for byte, and the handler is not entered.";
	if (verdict.label === "handler gone") {
		if (attack.id === "kill") return "The held handler died with A. B opens the state, finds nobody to wake, and says that the call has to be made again.";
		if (attack.id === "other") return "A holds the handler. B opens the state, finds nobody to wake, and says that the call has to be made again.";
		return "The handler that this state names has gone on and is no longer there. Nothing happens twice; the client is told to call again.";
	}
	if (verdict.label === "one wins") return engine === "Coroutine" ? "A holds the handler and completes. B finds nobody to wake. The effect happens once." : "One instance takes the round, the other is told that it was answered. The effect happens once.";
	if (verdict.tone === "effect") {
		if (attack.id === "both") return `Each instance opened the state and went on; neither knows of the other: the audit counts ${audits}.`;
		if (attack.id === "replay") return `The first state still opens, so the call went another way from there: the audit counts ${audits}.`;
		if (story.marked > 1) return `The audit had counted ${story.marked} before the attack, because it stands above a question; now it counts ${audits}.`;
		return store ? `The audit counts ${audits}.` : `Without a store nobody remembers that this state was used. It still opens, so the code below the question ran again: the audit counts ${audits}.`;
	}
	switch (attack.id) {
		case "tamper": return `The seal does not fit what it seals, so the request is refused before the handler is entered.${reason}`;
		case "place": return `The arguments are part of what the seal is made over. With others it does not open, and the handler is not entered.${reason}`;
		case "tool": return `The tool's name is part of what the seal is made over, so the state opens for its own tool alone.${reason}`;
		case "user": return `The state is bound to the caller it was sealed for, so mallory cannot use it.${reason}`;
		case "late": return `The state carries its own expiry, under the seal. It is over, so nothing is done.${reason}`;
		case "unoffered": return "The answer is judged by the question as it was sent, which is in the state. It does not fit, so the engine asks again; the handler is not entered.";
		case "kill": return engine === "Resumable" ? "The held handler died with A. B replays the function from the state and completes." : "A held nothing of this call. B has the key, opens the state, and completes.";
		case "other": return engine === "Resumable" ? "B does not hold the handler, so it replays the function from the state and completes." : "B has the key, opens the state, and finishes a call that it had never seen.";
		case "replay": return verdict.tone === "refusal" ? `The old round is refused.${reason}` : "The call went the other way from there, and what was remembered did not run again.";
		default: return engine === "Steps" || audits > 1 ? "The call completes again." : "The handler ran again and the result is the same. What it did is in the state, so the audit did not run again.";
	}
}
