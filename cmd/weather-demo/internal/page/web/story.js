// A story is one call as it is drawn: messages, runs of the handler and the time
// in between, in order. It is made from the messages that this page's clients
// sent and received, and from the events of the instances.

import { asksForInput } from "./client.js";
import { walk } from "./derive.js";

const closing = new Set(["questions asked", "call completed", "call stopped"]);

export class Story {
	constructor({ style, place, legacy }) {
		this.style = style;
		this.place = place;
		this.legacy = legacy;
		this.handler = (legacy && style.handlers[1]) || style.handlers[0];
		this.items = [];
		this.requests = 0; // tools/call requests sent
		this.entries = 0; // times the author's functions were entered
		this.audits = []; // audit events, each with its run
		this.runs = 0;
		this.states = []; // tokens received, in order
		this.asked = []; // keys asked, in order
		this.result = null; // the last response: { result } or { error }
		this.marked = null; // how many audit lines there were when an attack began
		this.facts = {}; // what the user did: killed, opened, changed, instance
		this.inbox = [];
		this.passed = new Set(); // lines that ran before
		this.held = null; // where a handler stopped and is held: its statement, and the instance
		this.pending = []; // the keys that are asked now
	}

	// watcher takes down the messages of a connection to this instance.
	watcher(instance, note = {}) {
		return (m) => this.inbox.push({ ...m, instance, note });
	}

	// take turns what came in, and the events of the same time, into items.
	take(events) {
		const inbox = this.inbox.splice(0);
		for (const m of inbox) if (m.sent) this.#sent(m);
		this.#audited(events);
		for (const instance of ["a", "b"]) {
			const own = events.filter((e) => e.instance === instance);
			const reply = inbox.find((m) => !m.sent && m.instance === instance && m.message.method !== "ping" && !isHandshake(m));
			if (reply || own.length > 0) this.#ran(instance, own, reply);
		}
		for (const m of inbox) if (!m.sent) this.#received(m);
	}

	rule(label) {
		this.items.push({ kind: "rule", label });
		this.marked = this.audits.length;
	}

	kill(instance) {
		const gap = this.items.findLast((i) => i.kind === "gap" && i.instance === instance);
		if (gap) gap.killed = true;
		else this.items.push({ kind: "gap", instance, killed: true, bytes: 0, holds: "nothing" });
		if (this.held?.instance === instance) this.held = null;
		this.facts.killed = instance;
	}

	get question() {
		return this.items.at(-1)?.kind === "gap" && this.pending.length > 0;
	}

	#sent(m) {
		const { message } = m;
		if (message.method === "initialize") {
			this.items.push({ kind: "initialize", instance: m.instance, messages: [m] });
			return;
		}
		if (message.method === "notifications/initialized") {
			this.items.findLast((i) => i.kind === "initialize").messages.push(m);
			return;
		}
		const item = { kind: "message", from: "client", instance: m.instance, ...m, lines: [] };
		if (message.method === "tools/call") {
			const { name, arguments: args, inputResponses, requestState } = message.params;
			item.number = ++this.requests;
			item.title = `tools/call ${name}`;
			item.short = name;
			item.state = requestState;
			item.lines = inputResponses ? answersIn(inputResponses) : [JSON.stringify(args)];
			item.isAnswer = Boolean(inputResponses);
			item.warning = m.note.warning;
			item.changed = m.note.changed;
			if (m.note.showArguments) item.lines = [JSON.stringify(args), ...item.lines];
		} else {
			item.title = "answer";
			item.lines = answersIn({ [this.pending[0]]: message.result ?? {} });
			item.isAnswer = true;
			this.action = message.result?.action;
		}
		this.facts.answered = item.isAnswer ? m.instance : this.facts.answered;
		this.items.push(item);
	}

	#received(m) {
		const { message, instance } = m;
		if (isHandshake(m)) {
			const item = this.items.findLast((i) => i.kind === "initialize" && i.instance === instance);
			item.messages.splice(1, 0, m);
			return;
		}
		const item = { kind: "message", from: "server", instance, ...m, lines: [] };
		this.items.push(item);
		if (message.method === "elicitation/create") {
			item.title = message.method;
			item.lines = [`? ${message.params.message}`];
			this.pending = Object.keys(message.params.requestedSchema?.properties ?? {}).slice(0, 1);
			this.asked.push(...this.pending);
			this.facts.asker = instance;
			this.items.push({ kind: "gap", instance, bytes: 0, holds: "stream" });
			return;
		}
		this.result = message;
		if (message.error) {
			item.title = `error ${message.error.code}`;
			item.lines = [message.error.message];
			item.refusal = true;
			this.pending = [];
			return;
		}
		const { result } = message;
		if (asksForInput(result)) {
			item.title = "input_required";
			item.lines = Object.values(result.inputRequests ?? {}).map((q) => `? ${q.params.message.split("\n")[0]}`);
			item.state = result.requestState;
			this.states.push(result.requestState);
			this.pending = Object.keys(result.inputRequests ?? {});
			if (!this.again) this.asked.push(...this.pending);
			this.facts.asker = instance;
			const holds = this.held?.instance === instance ? "handler" : "nothing";
			this.items.push({ kind: "gap", instance, bytes: result.requestState.length, holds, token: result.requestState });
			return;
		}
		item.title = result.isError ? "error result" : "complete";
		item.refusal = Boolean(result.isError);
		item.lines = [textOf(result)];
		this.pending = [];
		this.held = null;
	}

	// #ran makes runs of the events of one instance, or the stamp that says why
	// there is none.
	#ran(instance, events, reply) {
		const number = this.numberOf(instance);
		const runs = [];
		let run = null;
		let stopped = null;
		const asked = this.pending;
		for (const e of events) {
			if (e.kind === "handler entered") {
				this.entries++;
				if (run && !run.ended && this.handler.engine !== "Steps") run.ended = { again: true };
				if (run && this.handler.engine === "Steps") run.parts.push(e.handler);
				else runs.push((run = { parts: [e.handler ?? ""], audits: [], ended: null, heldAt: null }));
			} else if (e.kind === "audit") {
				if (!run) runs.push((run = this.#resumed(instance)));
				run.audits.push(e);
			} else if (closing.has(e.kind)) {
				stopped = e;
				if (!run && this.#goesOn(instance, e, asked)) runs.push((run = this.#resumed(instance)));
				if (run) run.ended = endedBy(e, reply);
				run = null;
			} else if (e.kind === "state refused") {
				stopped = e;
			}
		}
		// A handler that asks over the session has not ended: it waits.
		if (run) run.ended = { asked: overAsked(reply) };
		this.again = runs.length === 0 && stopped?.kind === "questions asked";
		for (const r of runs) this.#addRun(instance, number, r);
		if (runs.length === 0) this.#stamp(instance, stopped, reply);
	}

	// #goesOn tells a held handler that went on from a round that the engine
	// answered itself.
	#goesOn(instance, e, asked) {
		if (!this.held || this.held.instance !== instance) return false;
		if (this.held.statement.kind === "over") return true;
		if (e.kind === "questions asked") return !e.questions.some((key) => asked.includes(key));
		return e.kind === "call completed" || !["declined", "cancelled", "unanswered", "frame_gone"].includes(e.error_type);
	}

	#resumed() {
		return { parts: [this.held?.part ?? ""], audits: [], ended: null, heldAt: this.held?.statement ?? null };
	}

	#addRun(instance, number, r) {
		const { engine, parts, path } = this.handler;
		const trace = [];
		let at = null;
		let key = "";
		for (key of r.parts) {
			const part = parts.find((p) => p.key === key) ?? parts[0];
			const way = walk(part, {
				engine, legacy: this.legacy, audits: r.audits, ended: r.ended, heldAt: r.heldAt,
				answer: r.heldAt?.kind === "over" ? this.action : "accept",
			});
			trace.push(...way.trace);
			at = way.stoppedAt ?? at;
		}
		const item = { kind: "run", instance, number, index: ++this.runs, path, trace, resumed: Boolean(r.heldAt), audits: 0 };
		for (const t of trace) {
			t.again = this.passed.has(`${path}:${t.line}`);
			if (t.kind === "effect") item.audits++;
		}
		for (const t of trace) this.passed.add(`${path}:${t.line}`);
		this.items.push(item);
		const parks = engine === "Coroutine" || engine === "Resumable" || at?.kind === "over";
		this.held = at && parks ? { instance, statement: at, part: key } : this.held?.instance === instance ? null : this.held;
		return item;
	}

	#stamp(instance, e, reply) {
		const made = { kind: "stamp", instance, reason: e?.reason };
		const message = reply?.message;
		if (e?.kind === "state refused" || message?.error) Object.assign(made, { label: "refused", tone: "refusal" });
		else if (e?.error_type === "frame_gone") Object.assign(made, { label: "not here", tone: "refusal" });
		else if (e?.kind === "questions asked") Object.assign(made, { label: "asks again", tone: "engine" });
		else if (e?.kind === "call stopped") Object.assign(made, { label: "ended here", tone: "engine" });
		else Object.assign(made, { label: "stored", tone: "stored" });
		made.error = e?.error_type;
		this.items.push(made);
	}

	// #audited notes the audit lines of a round, with the run that wrote each.
	#audited(events) {
		for (const e of events) {
			if (e.kind === "audit") this.audits.push({ ...e, number: this.numberOf(e.instance), run: this.runs + 1 });
		}
	}

	// numberOf is the number of the last request that went to an instance.
	numberOf(instance) {
		return this.items.findLast((i) => i.number && i.instance === instance && i.kind === "message")?.number ?? this.requests;
	}

	get sealedBytes() {
		return Math.max(0, ...this.states.map((t) => t.length));
	}
}

function isHandshake(m) {
	return !m.sent && Boolean(m.message.result?.protocolVersion);
}

function endedBy(e, reply) {
	if (e.kind === "questions asked") return { asked: e.questions ?? [] };
	if (e.kind === "call completed") return {};
	const [, key] = /"(\w+)"/.exec(textOf(reply?.message.result)) ?? [];
	return { error: { type: e.error_type, key } };
}

function overAsked(reply) {
	return Object.keys(reply?.message.params?.requestedSchema?.properties ?? {});
}

export function textOf(result) {
	return (result?.content ?? []).map((c) => c.text ?? "").join(" ");
}

function answersIn(responses) {
	return Object.entries(responses).map(([key, r]) =>
		r.action === "accept" ? Object.entries(r.content ?? {}).map(([k, v]) => `${k} = ${v}`).join(", ") || `${key}: accepted` : `${key}: ${r.action === "decline" ? "declined" : "dismissed"}`,
	);
}
