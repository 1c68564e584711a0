// A story is one call as it is drawn: messages, runs of the handler and the time
// in between, in order. It is made from the messages that this page's clients
// sent and received, and from the events of the instances.

import { wayOf } from "./bench.js";
import { asksForInput } from "./client.js";

const closing = ["questions asked", "call completed", "call stopped"];

export class Story {
	constructor({ style, place, legacy = false }) {
		Object.assign(this, { style, place, legacy, handler: (legacy && style.handlers[1]) || style.handlers[0] });
		this.items = [];
		// How many tools/call requests were sent.
		this.requests = 0;
		// How often the author's functions were entered.
		this.entries = 0;
		this.runs = 0;
		// Charges, each with its request and run.
		this.charges = [];
		// Tokens received.
		this.states = [];
		// Keys asked, in order.
		this.asked = [];
		// Keys asked now.
		this.pending = [];
		// The last response.
		this.result = null;
		// How many charges there were when an attack began.
		this.marked = null;
		// What the user did: killed, opened, changed, resent; and who asked, who was answered.
		this.facts = {};
		// Where a handler stopped and is held: instance, part, statement.
		this.held = null;
		this.inbox = [];
		// Lines that ran before.
		this.passed = new Set();
	}

	// kept is the story as it outlives a reload.
	get kept() {
		const { style, handler, inbox, passed, ...rest } = this;
		return { ...rest, passed: [...passed] };
	}

	static restored({ passed, ...rest }, style) {
		return Object.assign(new Story({ ...rest, style }), rest, { passed: new Set(passed) });
	}

	// watcher takes down the messages of a connection to this instance.
	watcher(instance, note = {}) {
		return (m) => this.inbox.push({ ...(m.sent && note), ...m, instance });
	}

	// take turns what came in, and the events of the same time, into items.
	async take(events) {
		const inbox = this.inbox.splice(0);
		const received = inbox.filter((m) => !m.sent);
		for (const m of inbox) if (m.sent) this.#sent(m);
		this.charges.push(...events.filter((e) => e.kind === "charge").map((e) => ({ ...e, number: this.#number(e.instance), run: this.runs + 1 })));
		for (const instance of ["a", "b"]) {
			const own = events.filter((e) => e.instance === instance);
			const reply = received.find((m) => m.instance === instance && !isHandshake(m))?.message;
			if (reply || own.length) await this.#ran(instance, own, reply);
		}
		for (const m of received) this.#received(m);
		if (this.losing) this.items.push({ kind: "rule", label: "the response is lost" });
		this.losing = false;
	}

	rule(label) {
		this.items.push({ kind: "rule", label });
		this.marked = this.charges.length;
	}

	kill(instance) {
		const gap = this.items.at(-1);
		gap.killed = true;
		if (this.held?.instance === instance) this.held = null;
		this.facts.killed = instance;
	}

	// lose drops the responses that came in: the network did.
	lose() {
		this.inbox = this.inbox.filter((m) => m.sent);
		this.losing = true;
	}

	// cut ends a call whose connection was lost. What was sent is drawn; whether it
	// arrived is not known.
	cut() {
		for (const m of this.inbox.splice(0)) if (m.sent) this.#sent(m);
		this.pending = [];
		this.held = null;
		this.items.push({ kind: "rule", label: "the connection is lost" });
	}

	get question() {
		return this.pending.length > 0;
	}

	get sealedBytes() {
		return Math.max(0, ...this.states.map((t) => t.length));
	}

	// #number is the number of the last request that went to an instance.
	#number(instance) {
		return this.items.findLast((i) => i.number && i.instance === instance)?.number;
	}

	#sent(m) {
		const { method, params, result } = m.message;
		if (method === "initialize") return this.items.push({ kind: "initialize", instance: m.instance, messages: [m] });
		if (method === "notifications/initialized") return this.items.at(-1).messages.push(m);
		const item = { ...m, kind: "message", from: "client" };
		const answers = method ? params.inputResponses : { [this.pending[0]]: result };
		if (method) {
			Object.assign(item, { number: ++this.requests, title: `tools/call ${params.name}`, short: params.name, state: params.requestState });
		} else {
			item.title = "answer";
		}
		item.isAnswer = Boolean(answers);
		this.action = Object.values(answers ?? {})[0]?.action;
		item.lines = answers ? Object.entries(answers).map(inWords) : [JSON.stringify(params.arguments)];
		if (answers) this.facts.answered = m.instance;
		return this.items.push(item);
	}

	#received(m) {
		const { instance, message } = m;
		const { method, params, error, result } = message;
		if (isHandshake(m)) return this.items.findLast((i) => i.kind === "initialize").messages.splice(1, 0, m);
		const item = { ...m, kind: "message", from: "server" };
		const gap = { kind: "gap", instance, bytes: 0, holds: "stream" };
		const asks = method || (result && asksForInput(result));
		this.items.push(item);
		this.pending = [];
		if (!method) this.result = message;
		if (!asks) {
			this.held = null;
			item.refusal = Boolean(error || result.isError);
			item.title = error ? `error ${error.code}` : result.isError ? "error result" : "complete";
			item.lines = [error?.message ?? textOf(result)];
			return;
		}
		this.facts.asker = instance;
		if (method) {
			this.pending = formKeys(message).slice(0, 1);
			Object.assign(item, { title: method, short: "elicitation", lines: [...asking(params)] });
		} else {
			const { inputRequests = {}, requestState } = result;
			this.pending = Object.keys(inputRequests);
			this.states.push(requestState);
			Object.assign(item, { title: "input_required", state: requestState, lines: Object.values(inputRequests).flatMap((q) => asking(q.params)) });
			Object.assign(gap, { token: requestState, bytes: requestState.length, holds: this.held?.instance === instance ? "handler" : "nothing" });
		}
		if (!this.again) this.asked.push(...this.pending);
		this.items.push(gap);
	}

	// #ran makes runs of the events of one instance, or the stamp that says why
	// there is none.
	async #ran(instance, events, reply) {
		const runs = [];
		const { engine } = this.handler;
		const resumed = () => ({ parts: [this.held?.part ?? ""], charges: 0, ended: {}, heldAt: this.held?.statement });
		let run = null;
		let closed = null;
		for (const e of events) {
			if (e.kind === "handler entered") {
				this.entries++;
				if (run && ["Steps", "Given"].includes(engine)) {
					run.parts.push(e.handler);
					continue;
				}
				if (run) run.ended = { again: true };
				runs.push((run = { parts: [e.handler ?? ""], charges: 0, ended: {} }));
			} else if (e.kind === "charge") {
				if (!run) runs.push((run = resumed()));
				run.charges++;
			} else if (e.kind === "state refused" || e.kind === "round refused") {
				closed = e;
			} else if (closing.includes(e.kind)) {
				closed = e;
				if (!run && this.#resumed(instance, e)) runs.push((run = resumed()));
				if (run) run.ended = { asked: e.questions, error: e.error_type, key: /"(\w+)"/.exec(textOf(reply?.result))?.[1] };
				run = null;
			}
		}
		// It asks over the session, and waits. A handler that was held there and asks
		// its next question goes on without an event.
		const asked = formKeys(reply);
		if (!runs.length && this.held?.instance === instance && asked.length && asked[0] !== this.pending[0]) runs.push((run = resumed()));
		if (run) run.ended = { asked };
		this.again = !runs.length && closed?.kind === "questions asked";
		for (const r of runs) await this.#addRun(instance, r);
		if (!runs.length) this.#stamp(instance, closed, reply);
	}

	// #resumed reports whether a held handler went on. It did not if the engine answered
	// the round itself.
	#resumed(instance, { kind, questions, error_type }) {
		if (this.held?.instance !== instance) return false;
		if (this.held.statement.kind === "over") return true;
		if (kind === "questions asked") return !questions.some((key) => this.pending.includes(key));
		return !["declined", "cancelled", "unanswered", "frame_gone"].includes(error_type);
	}

	async #addRun(instance, { parts, heldAt, charges, ended }) {
		const { engine, path } = this.handler;
		const trace = [];
		let at = null;
		for (const part of parts) {
			const refused = heldAt?.kind === "over" && this.action !== "accept";
			const way = await wayOf({ tool: this.style.tool, legacy: this.legacy, part, charges, held_at: heldAt?.from, refused, ...ended });
			trace.push(...way.trace);
			charges -= way.trace.filter((t) => t.kind === "effect").length;
			at = way.stopped ?? at;
		}
		for (const t of trace) t.again = this.passed.has(path + t.line);
		for (const t of trace) this.passed.add(path + t.line);
		this.items.push({ kind: "run", instance, number: this.#number(instance), index: ++this.runs, trace, resumed: Boolean(heldAt) });
		if (at && (["Coroutine", "Resumable"].includes(engine) || at.kind === "over")) this.held = { instance, statement: at, part: parts.at(-1) };
		else if (this.held?.instance === instance) this.held = null;
	}

	#stamp(instance, closed, reply) {
		const { kind, error_type: error, reason } = closed ?? {};
		const [label, tone] = kind?.endsWith(" refused") || reply?.error ? ["refused", "refusal"]
			: error === "frame_gone" ? ["not here", "refusal"]
			: kind === "questions asked" || reply?.method ? ["asks again", "engine"]
			: kind === "call stopped" ? ["ended here", "engine"] : ["stored", "stored"];
		this.items.push({ kind: "stamp", instance, label, tone, reason, error });
	}
}

const isHandshake = (m) => Boolean(m.message.result?.protocolVersion);
const formKeys = (message) => Object.keys(message?.params?.requestedSchema?.properties ?? {});

export const textOf = (result) => (result?.content ?? []).map((c) => c.text ?? "").join(" ");

// asking is a question in lines; one that is asked again says why in its last.
const asking = ({ message }) => `? ${message}`.split("\n").filter(Boolean);

const inWords = ([key, { action, content }]) => action !== "accept" ? `${key}: ${action === "decline" ? "declined" : "dismissed"}`
	: Object.entries(content).map(([k, v]) => `${k} = ${v}`).join(", ");
