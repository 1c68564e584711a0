// What networks, impatient people, dishonest clients and dying servers do to a
// call. Each attack plays on a fresh call.

import { changeOneByte } from "./bench.js";
import { usual } from "./call.js";

// onSecond is an attack by the second request: change returns what is sent
// instead of its parameters, and how.
const onSecond = (rule, change) => async (call) => {
	const params = await second(call);
	call.story.rule(rule);
	const [changed = params, note, instance = "a"] = change(params, call);
	await call.send(instance, changed, note);
};

// second makes the first request, and returns the parameters of the next.
async function second(call, answers = usual) {
	const { result } = await call.send("a", call.first());
	return call.answering(result, answers);
}

// finish answers what is still asked.
async function finish(call, { result }) {
	if (result?.requestState) await call.send("a", call.answering(result, usual));
}

export const attacks = [
	{
		id: "resend", title: "Send the answer again", reason: "The response was lost, or somebody pressed twice.",
		naive: "does not recognize it does everything again.",
		async run(call) {
			const last = await second(call);
			await call.send("a", last);
			call.story.rule("the same request, again");
			await call.send("a", last);
		},
	},
	{
		id: "both", title: "Answer A and B at once", reason: "A retry overtakes the request it repeats.",
		naive: "knows nothing of the other does it too.",
		async run(call) {
			const last = await second(call);
			call.story.rule("the same request, to both");
			await call.sendBoth(last);
		},
	},
	{
		id: "replay", title: "Replay an old round", place: "Springfield", reason: "The client kept the first state, and sends it back with another answer.",
		naive: "keeps a session overwrites the first answer, and forgets that it acted on it.",
		async run(call) {
			const old = await second(call);
			await finish(call, await call.send("a", old));
			call.story.rule("the first state, another answer");
			await finish(call, await call.send("a", { ...old, inputResponses: { place: { action: "accept", content: { place: "Springfield, Missouri" } } } }));
		},
	},
	{
		id: "tamper", title: "Change one byte", reason: "The client wants to be somebody else, or further on.",
		naive: "sends its state unsigned believes whatever comes back.",
		why: "The seal does not fit any more, so the request is refused and the handler is not entered.",
		run: onSecond("one byte of the state is changed", (params) => [{ ...params, requestState: changeOneByte(params.requestState) }, { changed: true }]),
	},
	{
		id: "place", title: "State for another place", reason: "The state is genuine, the arguments are not those it was sealed for.",
		naive: "only checks the signature acts on what nobody was asked about.",
		why: "The seal covers the arguments. With others the state does not open, and the handler is not entered.",
		run: onSecond("other arguments, the same state", (params) => [{ ...params, arguments: { location: "Tokyo" } }, { warning: "for Tokyo" }]),
	},
	{
		id: "tool", title: "State for another tool", reason: "The state of a harmless tool is handed to one that acts.",
		naive: "has one key for all tools takes the one's consent for the other's.",
		why: "The seal covers the tool's name, so the state opens for its own tool alone.",
		run: onSecond("another tool, the same state", (params, { style }) => [{ ...params, name: style.name === "native" ? "weather_once" : "weather_native" }]),
	},
	{
		id: "user", title: "Somebody else's state", reason: "A state was copied from a log, or from another tab.",
		naive: "does not bind a state to its caller lets anybody finish your call.",
		why: "The state is bound to the caller it was sealed for, so mallory cannot use it.",
		run: onSecond("another user, the same request", () => [undefined, { user: "mallory", warning: "sent by mallory" }]),
	},
	{
		id: "late", title: "Answer too late", short: true, reason: "The state is sealed for an hour. Here, for 2 s.",
		naive: "sets no expiry acts on an answer that somebody gave last year.",
		why: "The state carries its own expiry, under the seal. It is over, so nothing is done.",
		async run(call, wait) {
			const late = await second(call);
			await wait(call.bench.life_ms + 100);
			call.story.rule("after 2 seconds");
			await call.send("a", late);
		},
	},
	{
		id: "other", title: "Answer on instance B", reason: "A load balancer sends the second round elsewhere.",
		naive: "keeps the call in memory never heard of it.",
		why: "B has the key, opens the state, and finishes a call that it had never seen.",
		run: onSecond("the answer goes to B", () => [undefined, {}, "b"]),
	},
	{
		id: "kill", title: "Kill the one that asked", reason: "A deployment, a crash, a scale-down.",
		naive: "waits for its user takes every open question down with it.",
		why: "A held nothing of this call. B has the key, opens the state, and completes.",
		async run(call) {
			const last = await second(call);
			await call.bench.kill("a");
			call.story.kill("a");
			call.story.rule("instance A is gone");
			await call.send("b", last);
		},
	},
	{
		id: "unoffered", title: "Answer off the list", reason: "The client does not check its user's answer.",
		naive: "trusts the form puts whatever comes into its next query.",
		why: "The answer is judged by the question as it was sent, which is in the state. It does not fit, so the engine asks again.",
		run: onSecond("an answer that was no choice", (params, call) => [call.answering({ inputRequests: params.inputResponses, requestState: params.requestState }, { units: "kelvin" })]),
	},
];

// verdictOf says how an attack ended: in two words, a tone, and the audits.
export function verdictOf(story) {
	const items = story.items.slice(story.items.findIndex((i) => i.kind === "rule"));
	const before = story.marked;
	const after = story.audits.length;
	const done = items.filter((i) => i.title === "complete").length;
	const stamped = (label) => items.some((i) => i.kind === "stamp" && i.label === label);
	const [label, tone] = after > before && after > 1 ? [after === 2 ? "effect twice" : `effect ${after} times`, "effect"]
		: done === 1 && items.filter((i) => i.from === "server").length === 2 ? ["one wins", "fine"]
		: stamped("not here") ? ["handler gone", "refusal"]
		: stamped("refused") ? ["refused", "refusal"]
		: stamped("stored") ? ["stored result", "stored"]
		: stamped("asks again") ? ["asked again", "fine"]
		: done ? ["completes", "fine"] : ["error result", "refusal"];
	return { label, tone, before, after };
}

// outcome says what happened, in a sentence or two.
export function outcome({ id, why }, { items, handler, marked, audits: { length } }, { label, tone }, store) {
	const { reason } = items.findLast((i) => i.kind === "stamp") ?? {};
	const log = reason ? ` The client is not told why; the log says ${reason}.` : "";
	if (tone === "stored") return "The store remembers this round. The same answer gets the same result, byte for byte, and no handler is entered.";
	if (store && id === "replay" && label === "refused") return "The store remembers the first answer. Another one is refused, as the client is told.";
	if (label === "handler gone") {
		if (id !== "kill" && id !== "other") return "The handler that this state names is gone. Nothing happens twice; the client is told to call again.";
		return `${id === "kill" ? "The held handler died with A." : "A holds the handler."} B opens the state, finds nobody to wake, and says that the call has to be made again.`;
	}
	if (label === "one wins") return `${handler.engine === "Coroutine" ? "A holds the handler and completes. B finds nobody to wake." : "One instance takes the round, the other is told that it was answered."} The effect happens once.`;
	if (tone === "effect") {
		const above = `The audit stands above a question, so it runs in each round: ${marked} before the attack, ${length} now.`;
		if (store || id === "kill" || id === "other") return above;
		if (id === "both") return `Each instance opened the state and went on; neither knows of the other: the audit counts ${length}.`;
		if (id === "replay") return `The first state still opens, so the call went another way from there: the audit counts ${length}.`;
		if (marked > 1) return above;
		return `Without a store nobody knows that this state was used. It still opens, so the code below the question ran again: the audit counts ${length}.`;
	}
	if (handler.engine === "Resumable" && (id === "other" || id === "kill")) return "B does not hold the handler, so it replays the function from the state and completes.";
	return why ? why + log : log ? `The old round is refused.${log}` : "The handler ran again and the result is the same. The audit is in the state, so it did not run again.";
}
