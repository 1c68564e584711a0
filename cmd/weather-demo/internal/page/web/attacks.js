// What networks, impatient people, dishonest clients and dying servers do to a
// call. Each attack plays on a fresh call.

import { changeOneByte } from "./bench.js";
import { usual } from "./call.js";
import { Name, askedWith, name, told } from "./words.js";

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
		id: "resend",
		title: "Send the answer again",
		reason: "The response was lost, or somebody pressed twice.",
		naive: "does not recognize it does everything again.",
		async run(call) {
			const last = await second(call);
			await call.send("a", last);
			call.story.rule("the same request, again");
			await call.send("a", last);
		},
	},
	{
		id: "both",
		title: "Answer A and B at once",
		reason: "A retry overtakes the request it repeats.",
		naive: "knows nothing of the other does it too.",
		async run(call) {
			const last = await second(call);
			call.story.rule("the same request, to both");
			await call.sendBoth(last);
		},
	},
	{
		id: "replay",
		title: "Replay an old round",
		place: "Springfield",
		reason: "The client kept the first state, and sends it back with another answer.",
		naive: "keeps a session overwrites the first answer, and forgets that it acted on it.",
		async run(call) {
			const old = await second(call);
			await finish(call, await call.send("a", old));
			call.story.rule("the first state, another answer");
			await finish(call, await call.send("a", { ...old, inputResponses: { place: { action: "accept", content: { place: "Springfield, Missouri" } } } }));
		},
	},
	{
		id: "tamper",
		title: "Change one byte",
		reason: "A client edits the state, to pose as somebody else or to skip a step.",
		naive: "sends its state unsigned believes whatever comes back.",
		why: "The seal does not fit any more, so the state does not open and the handler is not entered.",
		run: onSecond("one byte of the state is changed", (params) => [{ ...params, requestState: changeOneByte(params.requestState) }, { changed: true }]),
	},
	{
		id: "place",
		title: "State for another place",
		reason: "The state is genuine, the arguments are not those it was sealed for.",
		naive: "only checks the signature acts on what nobody was asked about.",
		why: "The seal covers the arguments. With others the state does not open, and the handler is not entered.",
		run: onSecond("other arguments, the same state", (params) => [{ ...params, arguments: { location: "Tokyo" } }, { warning: "for Tokyo" }]),
	},
	{
		id: "tool",
		title: "State for another tool",
		reason: "The state of a harmless tool is handed to one that acts.",
		naive: "has one key for all tools takes the one's consent for the other's.",
		why: "The seal covers the tool's name, so the state opens for its own tool alone.",
		run: onSecond("another tool, the same state", (params, { style }) => [{ ...params, name: style.name === "native" ? "weather_once" : "weather_native" }]),
	},
	{
		id: "user",
		title: "Somebody else's state",
		reason: "A state was copied from a log, or from another tab.",
		naive: "does not bind a state to its caller lets anybody finish your call.",
		why: "The state is bound to the caller it was sealed for, so mallory cannot use it.",
		run: onSecond("another user, the same request", () => [undefined, { user: "mallory", warning: "sent by mallory" }]),
	},
	{
		id: "late",
		title: "Answer too late",
		short: true,
		reason: "The state is sealed for an hour. Here, for 2 s.",
		naive: "sets no expiry acts on an answer that somebody gave last year.",
		why: "The state carries its own expiry, under the seal. It is over, so the handler is not entered.",
		async run(call, wait) {
			const late = await second(call);
			await wait(call.bench.life_ms + 100);
			call.story.rule("after 2 seconds");
			await call.send("a", late);
		},
	},
	{
		id: "key",
		title: "Another key",
		reason: "A server was started without the keys of the one that asked.",
		naive: "keeps its calls in memory, or does not seal, hides that its instances are not one.",
		why: "The state was sealed with a key that this server does not have, so it does not open, and the handler is not entered.",
		run: onSecond("a server with another key", () => [undefined, { other: true, warning: "to another key" }, "b"]),
	},
	{
		id: "version",
		title: "Another version",
		reason: "The tool was written otherwise and deployed while its user thought.",
		naive: "goes on anyway takes the answer to one question for that to another.",
		why: "The state opens and names another way to write the tool, in which its answers may mean something else, so the handler is not entered.",
		run: onSecond("B has another version", () => [undefined, { next: true, warning: "to another version" }, "b"]),
	},
	{
		id: "other",
		title: "Answer on instance B",
		reason: "A load balancer sends the second round elsewhere.",
		naive: "keeps the call in memory never heard of it.",
		why: "B has the key, opens the state, and finishes a call that it had never seen.",
		run: onSecond("the answer goes to B", () => [undefined, {}, "b"]),
	},
	{
		id: "kill",
		title: "Kill the one that asked",
		reason: "A deployment, a crash, a scale-down.",
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
		id: "unoffered",
		title: "Answer off the list",
		reason: "The client does not check its user's answer.",
		naive: "trusts the form puts whatever comes into its next query.",
		why: "The answer is judged by the question as it was sent, which is in the state. It does not fit, and the handler is not entered.",
		run: onSecond("an answer that was no choice", (params, call) => [
			call.answering({ inputRequests: params.inputResponses, requestState: params.requestState }, { units: "kelvin" }),
		]),
	},
];

// since are the items of a story from its attack on.
const since = (story) => story.items.slice(story.items.findIndex((i) => i.kind === "rule"));

// verdictOf says how an attack ended: in two words, a tone, and the effects.
export function verdictOf(story) {
	const items = since(story);
	const before = story.marked;
	const after = story.charges.length;
	const done = items.filter((i) => i.title === "complete").length;
	const stamped = (label) => items.some((i) => i.kind === "stamp" && i.label === label);
	const [label, tone] =
		after > before && after > 1
			? [after === 2 ? "effect twice" : `effect ${after} times`, "effect"]
			: done === 1 && items.filter((i) => i.from === "server").length === 2
				? ["one wins", "fine"]
				: stamped("not here")
					? ["handler gone", "refusal"]
					: stamped("refused")
						? ["refused", "refusal"]
						: stamped("stored")
							? ["stored result", "stored"]
							: stamped("asks again")
								? ["asked again", "fine"]
								: done
									? ["completes", "fine"]
									: ["error result", "refusal"];
	return { label, tone, before, after };
}

// outcome says what happened: how, with every refusal in the server's words, and what the
// effect counts.
export function outcome(attack, story, { label, before, after }, store) {
	return `${how(attack, story, label, store)}${told(since(story))} Charges: ${before} before the attack, ${after} now.`;
}

function how({ id, why }, story, label, store) {
	const { style, items: all } = story;
	const items = since(story);
	const runs = items.filter((i) => i.kind === "run");
	const [a, b] = [...new Set(runs.map((r) => r.instance))];
	const stored = items.find((i) => i.label === "stored");
	const holder = all.findLast((i) => i.kind === "gap" && i.holds === "handler" && !items.includes(i));
	if (label.startsWith("effect")) {
		if (style.group === "exhibit") return `The charge stands above a question, so it runs in each round.`;
		return `The state that was sent was sealed before the charge, so it does not say that it happened, and the server keeps no list of used states: ${b ? `${name(a)} and ${name(b)} both ran it` : `${name(a)} ran it again`}.`;
	}
	if (label === "stored result")
		return `The store remembers this round. ${a ? `${Name(a)} ran it, and ${name(stored.instance)} sent the same result` : `${Name(stored.instance)} sends the same result again`} without entering a handler.`;
	if (label === "handler gone") {
		return (
			{
				kill: "The handler died with instance A, and instance B has nothing to wake.",
				other: "Instance A holds the handler, and instance B has nothing to wake.",
			}[id] ?? "The handler that this state names has gone on and is not there any more."
		);
	}
	if (label === "one wins") return `${Name(items.find((i) => i.title === "complete").instance)} completes, and the other instance does not.`;
	if (label === "refused" && store && id === "replay") return "The store remembers the first answer, so another one is refused.";
	if (label === "asked again") return `${why} ${askedWith(items)}`;
	if (label === "refused" || !["completes", "error result"].includes(label)) return why;
	if (why && holder) return `${Name(a)} does not hold the handler, so it ran the function again from its top, with what had happened replayed from the state.`;
	return (
		why ??
		`The state says that the charge has happened, so it did not run again. That is only because it charges before its last round: charge in the last one, and it happens twice.`
	);
}
