// A story is one call as it is drawn: messages, runs of the handler and the time
// in between, in order. It is made from the messages that this page's clients
// sent and received, and from the events of the instances.

import { wayOf } from "./bench.js";
import { asksForInput } from "./client.js";

// Kinds of events behind which nothing of a run is to come, or not for a while.
const whole = ["questions asked", "call completed", "call stopped", "state refused", "round refused", "at work"];

/**
 * @typedef {"modern" | "legacy" | "task"} Era
 * @typedef {{ line: number, kind: "ran" | "effect" | "remembered", stop?: boolean, again?: boolean }} Passed
 * @typedef {{ kind: string, from: number, to: number }} Statement
 * @typedef {{ engine: string, path: string, from: number, lines: string[] }} Handler
 * @typedef {{ letter: string, name: string, tool: string, lesson: string, group: string, late: boolean, handlers: Handler[] }} Style
 * @typedef {{ seq: number, instance: string, kind: string, call?: string, handler?: string, questions?: string[], reason?: string, error_type?: string, text?: string, line?: number }} Event
 * @typedef {{ sent: boolean, message: any, text: string, instance: string }} Message
 * @typedef {Event & { number: number, run: number }} Charge
 *
 * What is drawn. The members depend on the kind.
 * @typedef {object} Item
 * @property {"initialize" | "message" | "run" | "gap" | "stamp" | "rule"} kind
 * @property {string} [instance]
 * @property {"client" | "server"} [from]
 * @property {string} [title]
 * @property {string} [short]
 * @property {string[]} [lines]
 * @property {string} [state]
 * @property {number} [number] of the request
 * @property {boolean} [isAnswer]
 * @property {boolean} [refusal]
 * @property {string} [warning]
 * @property {boolean} [changed]
 * @property {any} [message]
 * @property {Message[]} [messages]
 * @property {number} [index] of a run
 * @property {Passed[]} [trace]
 * @property {boolean} [resumed]
 * @property {"nothing" | "handler" | "stream" | "task" | "work"} [holds] of a gap
 * @property {number} [bytes]
 * @property {string} [token]
 * @property {boolean} [killed]
 * @property {number} [thought]
 * @property {string} [label] of a stamp or a rule
 * @property {string} [tone]
 * @property {string} [reason]
 * @property {string} [error]
 */

export class Story {
	/** @type {Style} */
	style;
	/** @type {string} */
	place;
	/** @type {Era} */
	era;
	/** @type {boolean} */
	store;
	/** @type {Handler} */
	handler;
	losing = false;
	again = false;
	/** @type {string} */
	action;

	/** @param {{ style: Style, place?: string, era?: Era, store?: boolean }} call */
	constructor({ style, place, era = "modern", store = false }) {
		Object.assign(this, { style, place, era, store, handler: (era === "legacy" && style.handlers[1]) || style.handlers[0] });
		/** @type {Item[]} */
		this.items = [];
		// How many requests were sent.
		this.requests = 0;
		// How often the author's functions were entered.
		this.entries = 0;
		this.runs = 0;
		// Charges, each with its request and run.
		/** @type {Charge[]} */
		this.charges = [];
		// Tokens received.
		/** @type {string[]} */
		this.states = [];
		// Keys asked, in order.
		/** @type {string[]} */
		this.asked = [];
		// Keys asked now.
		/** @type {string[]} */
		this.pending = [];
		// The last response.
		this.result = null;
		// How many charges there were when an attack began.
		this.marked = null;
		// What the user did: killed, opened, changed, resent; and who asked, who was answered.
		/** @type {{ killed?: string, atWork?: boolean, opened?: boolean, changed?: boolean, resent?: boolean, asker?: string, answered?: string }} */
		this.facts = {};
		// Where a handler stopped and is held: instance, part, statement.
		/** @type {{ instance: string, statement: Statement, part: string } | null} */
		this.held = null;
		/** @type {Message[]} */
		this.inbox = [];
		// Events of a run of which more is to come.
		/** @type {Event[]} */
		this.begun = [];
		// Its id and more, if the call is a task.
		this.created = null;
		// Lines that ran before.
		this.passed = new Set();
	}

	get legacy() {
		return this.era === "legacy";
	}

	// task tells a call that goes on between the requests of its client.
	get task() {
		return this.era === "task";
	}

	// working is the instance at which a task is at work.
	get working() {
		const gap = this.items.at(-1);
		return gap?.holds === "work" && !gap.killed ? gap.instance : null;
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
		// A task runs before it is asked for, and after it was created or answered.
		const late = this.task && inbox[0]?.message.method !== "tasks/get";
		if (this.task && !late) await this.#did(events);
		for (const m of inbox) if (m.sent) this.#sent(m);
		if (!this.task) await this.#did(events, received);
		for (const m of received) this.#received(m);
		if (late) await this.#did(events);
		if (this.losing) this.items.push({ kind: "rule", label: "the response is lost" });
		this.losing = false;
	}

	// #did makes runs of what the instances did.
	async #did(events, received = []) {
		const all = [...this.begun, ...events];
		this.begun = this.task ? all.splice(all.findLastIndex((e) => whole.includes(e.kind)) + 1) : [];
		this.charges.push(...all.filter((e) => e.kind === "charge").map((e) => ({ ...e, number: this.#number(e.instance), run: this.runs + 1 })));
		for (const instance of ["a", "b"]) {
			const own = all.filter((e) => e.instance === instance);
			const reply = received.find((m) => m.instance === instance && !isHandshake(m))?.message;
			if (reply || own.length) await this.#ran(instance, own, reply);
		}
	}

	rule(label) {
		this.items.push({ kind: "rule", label });
		this.marked = this.charges.length;
	}

	kill(instance) {
		const gap = this.items.at(-1);
		gap.killed = true;
		this.facts.atWork ||= gap.holds === "work";
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
			Object.assign(item, { number: ++this.requests, title: `${method} ${params.name ?? ""}`, short: params.name ?? method, state: params.requestState });
		} else {
			item.title = "answer";
		}
		item.isAnswer = Boolean(answers);
		this.action = Object.values(answers ?? {})[0]?.action;
		item.lines = answers ? Object.entries(answers).map(inWords) : [params.taskId ? "with its id" : JSON.stringify(params.arguments)];
		if (answers) this.facts.answered = m.instance;
		return this.items.push(item);
	}

	#received(m) {
		const { instance, message } = m;
		const { method, params } = message;
		const { error, result } = outOf(message);
		if (isHandshake(m)) return this.items.findLast((i) => i.kind === "initialize").messages.splice(1, 0, m);
		const item = { ...m, kind: "message", from: "server" };
		const held = this.held?.instance === instance && "handler";
		/** @type {Item} */
		const gap = { kind: "gap", instance, bytes: 0, holds: "stream" };
		const asks = method || (result && asksForInput(result));
		this.items.push(item);
		if (result?.resultType === "task") {
			this.created = result;
			return Object.assign(item, { title: "task, working", lines: ["and its id"] });
		}
		if (this.task && result && !asks && !result.content) return Object.assign(item, { title: "acknowledged", lines: [] });
		this.pending = [];
		if (!method) this.result = { error, result };
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
		} else if (this.task) {
			this.pending = Object.keys(result.inputRequests).map((key) => key.replace(/-\d+$/, "")); // a task numbers its keys
			Object.assign(item, { title: "input_required", lines: Object.values(result.inputRequests).flatMap((q) => asking(q.params)) });
			gap.holds = held || (this.store ? "nothing" : "task");
		} else {
			const { inputRequests = {}, requestState } = result;
			this.pending = Object.keys(inputRequests);
			this.states.push(requestState);
			Object.assign(item, { title: "input_required", state: requestState, lines: Object.values(inputRequests).flatMap((q) => asking(q.params)) });
			Object.assign(gap, { token: requestState, bytes: requestState.length, holds: held || "nothing" });
		}
		if (!this.again) this.asked.push(...this.pending);
		this.items.push(gap);
	}

	// #ran makes runs of the events of one instance, or the stamp that says why
	// there is none.
	async #ran(instance, events, reply) {
		const runs = [];
		let run = null;
		let closed = null;
		const begin = (r) => runs.push((run = { charges: 0, ended: {}, ...r }));
		const goOn = () => begin({ parts: [this.held?.part ?? ""], heldAt: this.held?.statement });
		const end = (ended) => {
			if (run) run.ended = ended;
			run = null;
		};
		const closes = (e) => {
			closed = e;
			if (!run && this.#resumed(instance, e)) goOn();
			end({ asked: e.questions, error: e.error_type, key: /"(\w+)"/.exec(textOf(reply?.result))?.[1] });
		};
		const refuses = (e) => (closed = e);
		const on = {
			"handler entered": ({ handler = "" }) => {
				this.entries++;
				if (run && ["Steps", "Given"].includes(this.handler.engine)) return run.parts.push(handler);
				end({ again: true });
				return begin({ parts: [handler] });
			},
			charge: () => {
				if (!run) goOn();
				run.charges++;
			},
			"at work": () => end({ works: true }),
			"questions asked": closes,
			"call completed": closes,
			"call stopped": closes,
			"state refused": refuses,
			"round refused": refuses,
		};
		for (const e of events) on[e.kind](e);
		// It asks over the session, and waits. A handler that was held there and asks
		// its next question goes on without an event.
		const asked = formKeys(reply);
		if (!runs.length && this.held?.instance === instance && asked.length && asked[0] !== this.pending[0]) goOn();
		end({ asked });
		this.again = !runs.length && closed?.kind === "questions asked";
		for (const r of runs) await this.#addRun(instance, r);
		if (!runs.length) this.#stamp(instance, closed, reply);
	}

	// #resumed reports whether a held handler went on. It did not if the engine answered
	// the round itself.
	#resumed(instance, { kind, questions, error_type }) {
		if (this.held?.instance !== instance) return false;
		if (["over", "work"].includes(this.held.statement.kind)) return true;
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
		if (at && (["Coroutine", "Resumable"].includes(engine) || ["over", "work"].includes(at.kind))) this.held = { instance, statement: at, part: parts.at(-1) };
		else if (this.held?.instance === instance) this.held = null;
		if (ended.works) this.items.push({ kind: "gap", instance, bytes: 0, holds: "work" });
	}

	#stamp(instance, closed, reply) {
		const { kind, error_type: error, reason } = closed ?? {};
		const [label, tone] =
			kind?.endsWith(" refused") || reply?.error || error === "diverged"
				? ["refused", "refusal"]
				: error === "frame_gone"
					? ["not here", "refusal"]
					: kind === "questions asked" || reply?.method
						? ["asks again", "engine"]
						: kind === "call stopped"
							? ["ended here", "engine"]
							: ["stored", "stored"];
		this.items.push({ kind: "stamp", instance, label, tone, reason: error === "diverged" ? "" : reason, error });
	}
}

// outOf takes the response to tools/call out of that of its task.
const outOf = ({ result, error }) =>
	!result?.taskId || result.resultType === "task"
		? { result, error }
		: result.status === "completed"
			? { result: result.result }
			: result.status === "failed"
				? { error: result.error }
				: { result: { ...result, resultType: result.status } };

const isHandshake = (m) => Boolean(m.message.result?.protocolVersion);
const formKeys = (message) => Object.keys(message?.params?.requestedSchema?.properties ?? {});

export const textOf = (result) => (result?.content ?? []).map((c) => c.text ?? "").join(" ");

// asking is a question in lines; one that is asked again says why in its last.
const asking = ({ message }) => `? ${message}`.split("\n").filter(Boolean);

const inWords = ([key, { action, content }]) =>
	action !== "accept"
		? `${key}: ${action === "decline" ? "declined" : "dismissed"}`
		: Object.entries(content)
				.map(([k, v]) => `${k} = ${v}`)
				.join(", ");
