// Every sentence that Play says about a call.

export const name = (instance) => `instance ${instance.toUpperCase()}`;
export const Name = (instance) => `Instance ${instance.toUpperCase()}`;
export const other = (instance) => (instance === "a" ? "b" : "a");
const times = (n) => ["", "once", "twice"][n] ?? `${n} times`;

// quote is a text of the server, word for word.
const quote = (text) => `“${text}”${/[.!?]$/.test(text) ? "" : "."}`;

// told quotes each refusal among these items, and what the log says of it: whatever the
// page says of a refusal, its reader reads the server's own words too.
export function told(items) {
	const says = items.filter((i) => i.refusal).map((i) => ` ${Name(i.instance)} tells the client: ${quote(i.lines[0])}`);
	const reasons = items.filter((i) => i.reason).map((i) => ` Its log says: ${i.reason}.`);
	return [...says, ...reasons].join("");
}

// counted is how often the card was charged.
export const counted = ({ charges }) => ` Charges: ${charges.length}.`;

// A step of the tour has a goal that the visitor reaches, and says what is left to do until then.
/** @typedef {{ title: string, preset?: object, caption?: string, goal?: string, todo?: string, hash?: string }} Step */
/** @type {Step[]} */
export const tour = [
	{
		title: "Answer a question",
		preset: { style: "native" },
		caption: "Press Call. The tool charges your card, and needs to know which units you want. It cannot wait for you.",
	},
	{
		title: "Charge twice",
		preset: { style: "naive" },
		caption: "In style naive the charge stands above the question. Press Call, answer, and watch the counter.",
	},
	{
		title: "Once cures it",
		preset: { style: "once" },
		goal: "opened",
		todo: "Now open the sealed state: the charge is in it. Then answer.",
		caption: "The same line, in Once. Press Call, open the sealed state, and answer.",
	},
	{
		title: "Kill the server",
		preset: { style: "native" },
		goal: "killed",
		todo: "Now kill instance A. Then answer.",
		caption: "Press Call. When the tool asks, kill instance A. Then answer.",
	},
	{
		title: "Change one byte",
		preset: { style: "native" },
		goal: "changed",
		todo: "Now change one byte of the state. Then answer.",
		caption: "Press Call. Change one byte of the state that you are given, and answer.",
	},
	{
		title: "Be a legacy client",
		preset: { style: "native", era: "legacy" },
		caption: "Press Call. This client is from before 2026-07-28: it makes one request, and is asked while it waits.",
	},
	{
		title: "Lose the answer",
		preset: { style: "native" },
		goal: "resent",
		todo: "Now tick “lose the response”, answer, and send the same request again.",
		caption: "Press Call, and lose the response to your answer. This server has no store.",
	},
	{
		title: "Lose it with a store",
		preset: { style: "native", store: true },
		goal: "resent",
		todo: "Now tick “lose the response”, answer, and send the same request again.",
		caption: "The same, on a server with a store. Press Call, and lose the response to your answer.",
	},
	{
		title: "Kill it at work",
		preset: { style: "once", era: "task", store: true },
		goal: "atWork",
		todo: "Answer, and kill the instance while it works.",
		caption: "Press Call. This client takes tasks: it gets an id at once, and the call goes on while nobody waits.",
	},
];

// missed is said if a step of the tour ended without its point.
export const missed = {
	opened: "The state stayed closed",
	killed: "Nothing was killed",
	changed: "No byte was changed",
	resent: "No response was lost",
	atWork: "Nothing was killed at work",
};

// home is what the tour leaves behind.
export const home = [
	"A server cannot call its client back. So it forgets the call, and the handler runs from its top in every round.",
	"An effect above a question belongs in Once.",
	"A store makes a lost response harmless. Without one, pass on the idempotency key.",
	"Servers that share a key finish one another's calls.",
];

export const groups = [
	["effect", "how the effect happens only once"],
	["legacy", "how legacy clients are asked"],
	["exhibit", "how it goes wrong"],
];

// opening is said before a call that is no step of the tour.
export function opening({ style, place, era }, { lesson }) {
	if (place === "Atlantis") return "Press Call. There is no such place, so the tool will fail before it asks.";
	if (era !== "modern") return tour[era === "legacy" ? 5 : 8].caption;
	return style === "native" ? tour[0].caption : `Press Call. ${lesson}`;
}

// running is said while a round plays.
export function running({ legacy, task, requests, runs, handler, items }) {
	if (task) return "The task is with the server, and the client asks for it now and then.";
	const last = items.findLast((i) => ["run", "stamp"].includes(i.kind) || i.from === "client");
	if (legacy)
		return runs > 1 ? "Your answer went out over the same connection. The request is still the first one." : "The request is with the server, and stays open.";
	if (last.kind === "stamp") return `Request ${requests} is with the server.`;
	if (last.resumed) return "Your answer is back at the server, and the handler goes on.";
	if (handler.engine === "Given") return `Request ${requests}. Is any answer missing?`;
	if (handler.engine === "Steps") return `Request ${requests}. The steps go on from the first one that is not done.`;
	return requests < 2 ? "The handler runs, from its top." : `Request ${requests}. The handler runs again, from its top.`;
}

// asked is said when the call waits for its user.
export function asked({ items, pending, held, handler, task, store }) {
	const { instance, holds } = items.at(-1);
	const keys = pending.map((k) => `"${k}"`).join(" and ");
	const last = items.findLast((i) => i.kind === "run" || i.kind === "stamp");
	if (last.kind === "stamp") return `The engine asks for ${keys} again, and the handler was not entered. ${askedWith(items)}`;
	const stop = last.trace.findLast((t) => t.stop)?.line;
	if (task)
		return `The handler asked for ${keys} at line ${stop}, and the task waits for your answer ${holds === "handler" ? `with the handler that ${name(instance)} holds` : store ? "in the store: no instance holds it" : `in the memory of ${name(instance)}`}.`;
	if (holds === "stream") {
		return `The handler ${held ? `asks at line ${stop}, and waits there` : `returned its question at line ${stop}, and the bridge asks it`}. ${Name(instance)} holds the open connection until you answer.`;
	}
	if (holds === "handler")
		return `The handler stopped at line ${stop} and stays there: ${name(instance)} holds it until you answer. The state says which one it is.`;
	const part = { Steps: "step", Given: "function" }[handler.engine];
	return `${part ? `The ${part} for ${keys} returned its question at line ${stop}.` : `The handler ran down to line ${stop}, found no answer to ${keys}, and returned the question.`} ${Name(instance)} keeps nothing. What the next round needs is in the sealed state.`;
}

// askedWith quotes what the last question ends with: where it is asked again, why.
export const askedWith = (items) =>
	`The client is asked: ${quote(
		items
			.findLast((i) => i.from === "server")
			.lines.at(-1)
			.replace("? ", ""),
	)}`;

// working is said while a task is at work.
export function working({ items, working: at, facts, charges }) {
	const { trace } = items.findLast((i) => i.kind === "run");
	const begins = facts.atWork
		? `${Name(at)} took the task over and ran the handler again from its top, with the answers and the charge replayed from the store: it`
		: `The card is charged, and ${name(at)}`;
	return `${begins} works at line ${trace.at(-1).line} while no request is open.${counted({ charges })}`;
}

export function killed({ handler, legacy, task, store, items }, instance) {
	if (legacy) return cutOff(instance);
	if (task) return lostTask(items.at(-1), store, instance);
	const held =
		items.at(-1).holds === "nothing"
			? "It held nothing of this call."
			: `It held the handler of this call, which is gone with it.${handler.engine === "Resumable" ? " What the handler did is also in the state." : ""}`;
	return `${Name(instance)} is gone. ${held} Answer: ${name(other(instance))} has the same key.`;
}

function lostTask({ holds }, store, instance) {
	const to = name(other(instance));
	const left = !store
		? `the task with it: there is no store, and ${to} has never heard of it`
		: holds === "handler"
			? `with it the handler that it held: ${to} has the task, and nothing to wake`
			: `the task is in the store: ${holds === "work" ? `once it has heard nothing for 3 seconds, ${to} takes it over` : `answer, and ${to} goes on with it`}`;
	return `${Name(instance)} is gone${holds === "work" ? " in mid-work" : ""}, and ${left}.`;
}

export const cutOff = (instance) =>
	`${Name(instance)} is gone, and the open request with it: the call cannot go on. A legacy client's call lives on one server.`;

// A connection that nobody has killed may be lost as well: while a question is open,
// and then back; or for good.
export const unanswered =
	"No response came. Whether the handler ran, your client cannot know. It still has the question, the state and your answer: send the same request again. A new call would be a second order.";
export const adrift = "The connection to both instances is lost. The call is not: your client has the question and the sealed state.";
export const joined = "The connection is back. Answer, and the call goes on.";

export function lost({ legacy }, waited) {
	if (legacy) return "The connection is lost, and the open request with it: a legacy client's call cannot go on. Call again when it is back.";
	return waited
		? "The server was started again with another key, and cannot open the state that you hold. One that keeps its key would go on."
		: "The connection was lost before the response came. Whether the handler ran, no client can know. Call again when it is back.";
}

// ended is said when the call is over.
export function ended(story) {
	const { result, facts, items, requests } = story;
	const round = items.slice(items.findLastIndex((i) => i.from === "client") + 1);
	const last = items.findLast((i) => i.kind === "run");
	if (story.task) return taskEnd(story, round, last) + told(round) + counted(story);
	if (result.error) return `The ${facts.changed ? "changed state" : "request"} was refused before the handler was entered.${told(round)}`;
	if (result.result.isError) return failed(story, round) + told(round) + counted(story);
	if (story.legacy) return legacyEnd(story) + counted(story);
	if (facts.resent) return `Your client sent its last request once more, as it was. ${resent(story, round)}${counted(story)}`;
	if (story.charges.length > 1)
		return `Line ${story.charges[0].line} has the charge above a question. Each round starts from the top, so it charged again.${counted(story)}`;
	const other = facts.asker !== facts.answered ? `${Name(facts.answered)} finished a call that it had never seen. ` : "";
	return `${other}Your answer went out as request ${requests}. ${lastRound(story, last)}${counted(story)}`;
}

function taskEnd({ result, facts, handler }, round, last) {
	const { instance } = round.at(-1);
	if (result.error)
		return `${Name(instance)} knows no such task: without a store it was in the memory of ${name(other(instance))}, and the client cannot know what was done.`;
	if (result.result.isError)
		return facts.atWork
			? `${Name(instance)} took the task over, and cannot tell what was done: ${handler.engine === "Steps" ? "a step was cut off" : "its handler was held"}.`
			: "The task ended with an error, which the model can read.";
	if (!facts.atWork) return `The task completed at ${name(instance)}, and no request was open while it worked.`;
	return `${Name(instance)} completed the task that ${name(other(instance))} left${last.resumed ? ", behind the line where it worked" : ""}, and no effect happened twice.`;
}

function resent({ charges }, round) {
	if (round.some((i) => i.label === "stored")) return "The store had the result of this round, so the handler was not entered.";
	return charges.length > 1
		? "This server has no store: it could not know that it had answered, and the handler charged again."
		: "The handler ran again, and charged no second time.";
}

function lastRound({ handler }, last) {
	const replayed = last.trace.some((t) => t.kind === "remembered") ? `the answers and the charge` : "the answers";
	const now = last.trace.some((t) => t.kind === "effect");
	const again = last.trace.filter((t) => t.again).map((t) => t.line);
	if (last.resumed)
		return `The handler went on behind line ${last.trace[0].line - 1}, where it was held. ${handler.engine === "Coroutine" ? "No line ran twice." : "Had its instance been gone, it would have been replayed."}`;
	switch (handler.engine) {
		case "Resumable":
			return `The handler that was held is not there, so the function ran again from its top, with ${replayed} replayed from the sealed state.`;
		case "Journal":
			return `The very function of style coroutine, and nothing held: it ran again from its top, with ${replayed} replayed from the sealed state.`;
		case "Steps":
			return `The step with the charge ${now ? "ran in this last round" : "ran before, and was not run again"}.`;
		case "Given":
			return "Nothing was missing, and the handler was entered, once.";
	}
	if (replayed !== "the answers") return `The handler ran again from its top. Once found the charge in the sealed state and did not run it again.`;
	return `Lines ${Math.min(...again)} to ${Math.max(...again)} ran again; the charge stands below the last question, so it ran once.`;
}

// failed says how the call came to an error result, which is quoted after it.
function failed({ asked: keys, facts, action }, round) {
	const stamp = round.find((i) => i.kind === "stamp");
	if (stamp?.error === "frame_gone")
		return `The state opened, but the handler it names is not there${facts.asker === facts.answered ? "" : `: ${name(facts.asker)} held it`}. This is the price of style coroutine; with the switch to replay, it would have gone on.`;
	if (action !== "accept" && keys.length)
		return `You said no. The call ends with an error result that the model can read${stamp ? ", and the handler is not entered again" : ""}.`;
	return `${keys.length ? "The tool failed" : "The tool failed before it asked anything"}. Its error is a result that the model can read.`;
}

function legacyEnd({ entries, handler, charges }) {
	const entered = `One request from first to last. ${["Steps", "Given"].includes(handler.engine) ? "Functions of the handler were" : "The handler was"} entered ${times(entries)}`;
	if (charges.length > 1) return `${entered}, past an effect that stands above its question.`;
	return `${entered}${entries > 1 ? " in it, and the client saw none of that." : ", and waited on the server until you answered."}`;
}
