// A stage shows one story at reading pace: the wire and its caption, the server
// with its source, its states and its messages, and the audit lines. A round
// takes under a millisecond, so it is collected first and played then.

import { diagram, geometry, preview } from "./diagram.js";
import { envelope } from "./envelope.js";
import { h } from "./dom.js";
import { messageView } from "./message.js";
import { sourceView } from "./source.js";
import { stateView } from "./state.js";

const pace = { line: 70, effect: 420, message: 460, envelope: 700, stamp: 420 };

export class Stage {
	constructor({ changed, extraTab = null }) {
		this.changed = changed; // to be called when there is something new to draw
		this.extraTab = extraTab; // { id, title, view }
		this.tab = extraTab?.id ?? "source";
		this.instances = { a: "ready", b: "ready" };
		this.caption = "";
		this.actions = {
			choose: (item) => this.choose(item),
			openState: (token) => this.showState(token),
			showSource: () => this.showTab("source"),
		};
	}

	// reset puts a new story on the stage.
	reset(story, { keepTab = false } = {}) {
		this.story = story;
		this.shown = 0; // items that are shown whole
		this.step = 0; // how far the next one is, if it is a run
		this.revealing = false;
		this.roundStart = 0;
		this.chosen = null;
		this.token = null;
		this.opened = null;
		this.dropped = false;
		this.caption = "";
		if (!keepTab && !this.extraTab) this.tab = "source";
		return this;
	}

	get still() {
		return this.skipping || matchMedia("(prefers-reduced-motion: reduce)").matches;
	}

	// advance plays what the story has more than is shown.
	async advance() {
		const { story } = this;
		this.skipping = false;
		this.playing = true;
		this.roundStart = this.shown;
		while (this.shown < story.items.length && this.story === story) {
			const item = story.items[this.shown];
			this.step = 0;
			this.revealing = true;
			if (item.token) this.token = item.token;
			if (!this.still) {
				this.changed(true);
				await this.#reveal(item);
				if (this.story !== story) break;
			}
			this.shown++;
			this.revealing = false;
		}
		if (this.story !== story) return;
		this.playing = false;
		this.changed(true);
		this.#follow();
	}

	async #reveal(item) {
		if (item.kind === "run") {
			for (const t of item.trace) {
				this.step++;
				this.changed(true);
				this.#follow();
				await this.#wait(t.kind === "effect" ? pace.effect : pace.line);
				if (this.still) return;
			}
		} else {
			await this.#wait(item.kind === "gap" ? pace.envelope : item.kind === "stamp" ? pace.stamp : pace.message);
		}
	}

	#wait(ms) {
		return new Promise((resolve) => {
			this.#wake = resolve;
			setTimeout(resolve, this.still ? 0 : ms);
		});
	}
	#wake = null;

	// skip finishes the round at once.
	skip() {
		if (!this.playing) return;
		this.skipping = true;
		this.#wake?.();
	}

	// shownRuns are the runs so far, the one that plays cut where it is.
	shownRuns() {
		const runs = this.story.items.slice(0, this.shown).filter((i) => i.kind === "run");
		const next = this.story.items[this.shown];
		if (this.revealing && next?.kind === "run" && this.step > 0) runs.push({ ...next, trace: next.trace.slice(0, this.step) });
		return runs;
	}

	// now is the line that runs.
	now() {
		const next = this.story.items[this.shown];
		return this.revealing && next?.kind === "run" && this.step > 0 ? next.trace[this.step - 1] : null;
	}

	get waiting() {
		return !this.playing && this.shown > 0 && this.story.question;
	}

	// holding tells what the server holds while its user thinks: null when it is
	// not waiting.
	get holding() {
		if (!this.waiting) return null;
		const gap = this.story.items.at(-1);
		return gap.killed ? "nothing" : gap.holds;
	}

	heldLine() {
		const held = this.holding;
		return held && held !== "nothing" ? this.story.held?.statement.to ?? null : null;
	}

	get audits() {
		const count = this.shownRuns().flatMap((r) => r.trace).filter((t) => t.kind === "effect").length;
		return this.story.audits.slice(0, count);
	}

	choose(item) {
		this.chosen = item;
		this.showTab("message");
	}

	showState(token) {
		if (token !== this.token) this.opened = null;
		this.token = token;
		this.showTab("state");
	}

	showTab(tab) {
		this.tab = tab;
		this.changed();
	}

	// #follow keeps the line that runs, then the last one that ran, in view, and
	// the end of the diagram. A land that does not scroll by itself is left alone.
	#follow() {
		const wire = document.querySelector(".wire-scroll");
		if (wire && scrolls(wire)) wire.scrollTop = wire.scrollHeight;
		const panel = document.querySelector(".panel");
		if (!panel || !scrolls(panel) || this.tab !== "source") return;
		const last = this.shownRuns().at(-1)?.trace.at(-1)?.line;
		const row = panel.querySelector(`[data-line="${this.now()?.line ?? last}"]`);
		if (!row) return;
		const top = row.offsetTop;
		if (top < panel.scrollTop + 60) panel.scrollTop = top - 60;
		else if (top > panel.scrollTop + panel.clientHeight - 60) panel.scrollTop = top - panel.clientHeight + 80;
	}

	// wire draws the lanes and the caption.
	wire({ width, killable = null, onkill }) {
		const g = geometry(width);
		const { story } = this;
		const begun = story.items.length > 0;
		const lane = (instance) => {
			const name = g.narrow ? instance.toUpperCase() : `Instance ${instance.toUpperCase()}`;
			const state = this.instanceState(instance);
			const style = { left: `${g[instance]}px` };
			return h(
				"div",
				{ key: instance, class: `lane-head server ${state === "gone" ? "gone" : ""}`, style },
				h("b", name),
				killable === instance && !this.playing
					? h("button", { type: "button", class: "kill", onclick: () => onkill(instance) }, "kill it", h("span.sr", ` (instance ${instance.toUpperCase()})`))
					: h("span", state),
			);
		};
		return h("section.wire", { key: "wire", "aria-label": "The wire" },
			h("header.heads",
				h("div.lane-head.client", { key: "client", style: { left: `${g.client - 12}px` } }, h("b", "Client"), h("span", story.legacy ? "2025-11-25" : "2026-07-28")),
				lane("a"),
				lane("b"),
			),
			h("div.wire-scroll", { onclick: () => this.skip() },
				begun ? diagram(this, width, this.actions) : preview(story, width),
			),
			h("p.caption", { "aria-live": "polite" }, this.caption),
		);
	}

	instanceState(instance) {
		if (this.story.facts.killed === instance) return "gone";
		if (this.story.items.length === 0) return "ready";
		const next = this.story.items[this.shown];
		if (this.playing && next?.instance === instance && next.kind !== "gap") return "running";
		const gap = this.story.items.at(-1);
		if (this.waiting && gap.instance === instance && gap.holds !== "nothing") return gap.holds === "handler" ? "holds 1 handler" : "holds the stream";
		return "idle";
	}

	// server draws the server's land.
	server({ bench }) {
		const { story } = this;
		const asleep = this.holding === "nothing";
		const tabs = [
			...(this.extraTab ? [[this.extraTab.id, this.extraTab.title]] : []),
			["source", "Source"],
			["state", "Sealed state"],
			["message", "Message"],
		];
		const choose = (i) => {
			const [id] = tabs[(i + tabs.length) % tabs.length];
			this.showTab(id);
			document.getElementById(`tab-${id}`)?.focus();
		};
		const steps = { ArrowRight: 1, ArrowLeft: -1 };
		const status = this.playing ? "running" : asleep ? "nothing is held" : this.holding === "handler" ? "a handler is held" : this.holding === "stream" ? "the stream is held" : "";
		return h(
			"section",
			{ key: "server", class: `server-land${asleep ? " asleep" : ""}`, "aria-label": "The server" },
			h("div.tab-bar",
				h(
					"div",
					{ role: "tablist", "aria-label": "What the server shows" },
					tabs.map(([id, title], i) =>
						h("button", {
							key: id, id: `tab-${id}`, type: "button", role: "tab", "aria-selected": String(this.tab === id), "aria-controls": "panel", tabindex: this.tab === id ? "0" : "-1",
							onclick: () => this.showTab(id),
							onkeydown: (e) => {
								if (steps[e.key]) choose(i + steps[e.key]);
							},
						}, title),
					),
				),
				h("span.status", status),
			),
			h("div.panel", { id: "panel", role: "tabpanel", "aria-labelledby": `tab-${this.tab}`, tabindex: "0" }, this.#panel(bench)),
			this.#ledger(story),
		);
	}

	#panel(bench) {
		if (this.extraTab && this.tab === this.extraTab.id) return this.extraTab.view();
		if (this.tab === "message") return messageView(this.chosen ?? this.story.items.findLast((i) => i.kind === "message"));
		if (this.tab === "state") {
			return stateView({ token: this.token, opened: this.opened, story: this.story, legacy: this.story.legacy, changed: this.changedToken && this.changedToken === this.token }, {
				open: () => this.open(bench),
				close: () => {
					this.opened = null;
					this.changed();
				},
				wire: () => this.choose(this.story.items.find((i) => i.kind === "message" && i.from === "server" && i.state === this.token)),
			});
		}
		return sourceView(this);
	}

	// open lets the demo's server open the state that is shown.
	async open(bench) {
		const { token, story } = this;
		const opened = await bench.open(token, story.style.tool, { location: story.place });
		if (token !== this.token) return;
		this.opened = opened;
		story.facts.opened = true;
		this.onopened?.();
		this.changed();
	}

	#ledger(story) {
		const { audits } = this;
		const many = audits.length > 1;
		return h(
			"div",
			{ class: `ledger${many ? " many" : ""}`, "aria-live": "polite" },
			h("b.count", audits.length),
			h("div",
				h("p", h("b", audits.length === 1 ? "audit line" : "audit lines"), many ? " for one call: the effect happened more than once" : " the one effect this tool has"),
				h("ul",
					audits.slice(-3).map((a) =>
						h("li", { key: a.seq }, h("code", a.text), ` ${story.legacy ? "run" : "request"} ${story.legacy ? a.run : a.number}, line ${a.line}${a.instance === "b" ? ", instance B" : ""}`),
					),
				),
			),
		);
	}
}

// holdsState is what the client's land says of the state in its hands.
export function holdsState(stage, { changed, onopen, onchange }) {
	const { token } = stage;
	return h("div.in-hand", { key: "in-hand" },
		envelope(84, { torn: changed }),
		h("div",
			h("b", changed ? "You changed one byte" : "You hold the sealed state"),
			h("p", changed ? "Send it, and see." : `${token.length} bytes that you cannot read.`),
			h("p.links",
				h("button", { type: "button", class: "link seal", onclick: onopen }, "Open"),
				h("button", { type: "button", class: "link refusal", onclick: onchange }, changed ? "Change it back" : "Change one byte"),
			),
		),
	);
}

function scrolls(el) {
	return ["auto", "scroll"].includes(getComputedStyle(el).overflowY) && el.scrollHeight > el.clientHeight;
}
