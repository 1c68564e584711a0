// A stage shows one story at reading pace: the wire and its caption, the server
// with its source, its states and its messages, and the charges. A round
// takes under a millisecond, so it is collected first and played then.

import { diagram, geometry, preview } from "./diagram.js";
import { button, h, sr } from "./dom.js";
import { sourceView } from "./source.js";
import { messageView, stateView } from "./state.js";

// In ms.
const pace = { ran: 70, remembered: 70, effect: 420, message: 460, initialize: 460, rule: 200, gap: 700, stamp: 420 };

export class Stage {
	/** @type {import("./story.js").Story} */
	story;
	/** @type {import("./bench.js").Bench} */
	bench;
	/** @type {string} */
	caption;
	// How many items are shown whole, and how far the next one has come.
	shown = 0;
	step = 0;
	roundStart = 0;
	revealing = false;
	playing = false;
	skipping = false;
	// Whether its state is short-lived, and the connection is lost.
	short = false;
	lost = false;
	/** @type {import("./story.js").Item | null} */
	chosen = null;
	/** @type {string | null} */
	token = null;
	/** @type {{ payload?: any, refused?: string } | null} */
	opened = null;
	/** @type {string | null} */
	changedToken = null;
	/** @type {() => void} */
	wake;

	// changed is called when there is something new to draw. A stage may have a
	// tab of its own before the others: { id, title, view }.
	constructor(changed, ownTab) {
		this.changed = changed;
		this.tabs = [
			ownTab,
			{ id: "source", title: "Source", view: () => sourceView(this) },
			{ id: "state", title: "Sealed state", view: () => this.#state() },
			{ id: "message", title: "Message", view: () => messageView(this.chosen ?? this.story.items.findLast((i) => i.kind === "message")) },
		].filter(Boolean);
		this.tab = this.tabs[0].id;
		this.actions = {
			choose: (item) => {
				this.chosen = item;
				this.show("message");
			},
			openState: (token) => {
				this.#hold(token);
				this.show("state");
			},
			showSource: () => this.show("source"),
		};
	}

	// reset puts a new story on the stage.
	/**
	 * @param {import("./story.js").Story} story
	 * @param {import("./bench.js").Bench | null} bench
	 * @param {string} [caption]
	 */
	reset(story, bench, caption) {
		Object.assign(this, {
			story,
			bench,
			caption,
			shown: 0,
			step: 0,
			revealing: false,
			roundStart: 0,
			chosen: null,
			token: null,
			opened: null,
			changedToken: null,
			tab: this.tabs[0].id,
		});
	}

	// #hold makes a state the one that is shown. What was found in another is not in it.
	#hold(token) {
		if (token !== this.token) this.opened = null;
		this.token = token;
	}

	get still() {
		return this.skipping || matchMedia("(prefers-reduced-motion: reduce)").matches;
	}

	// advance plays what the story has more than is shown. Items before shown are
	// shown whole; of a run that is being played, step says how far it has come.
	async advance() {
		const { story } = this;
		this.skipping = false;
		this.playing = true;
		this.roundStart = this.shown;
		while (this.shown < story.items.length && this.story === story) {
			const item = story.items[this.shown];
			this.#hold(item.token ?? this.token);
			this.step = 0;
			this.revealing = true;
			for (const t of item.trace ?? [item]) {
				if (this.still || this.story !== story) break;
				this.step++;
				this.#draw();
				await this.#wait(pace[t.kind]);
			}
			if (this.story !== story) return;
			this.shown++;
			this.revealing = false;
		}
		this.playing = false;
		this.#draw();
	}

	#wait(ms) {
		return /** @type {Promise<void>} */ (
			new Promise((resolve) => {
				this.wake = resolve;
				setTimeout(resolve, ms);
			})
		);
	}

	// skip finishes the round at once.
	skip() {
		this.skipping = true;
		this.wake?.();
	}

	// shownRuns are the runs so far, the one that plays cut where it is.
	shownRuns() {
		const runs = this.story.items.slice(0, this.shown).filter((i) => i.kind === "run");
		return this.now() ? [...runs, { ...this.next, trace: this.next.trace.slice(0, this.step) }] : runs;
	}

	get next() {
		return this.story.items[this.shown];
	}

	// now is the line that runs.
	now() {
		return this.revealing ? this.next.trace?.[this.step - 1] : null;
	}

	// holding names what the server holds while its user thinks, and is null when
	// nobody is asked.
	get holding() {
		const gap = this.story.items.at(-1);
		if (this.playing || gap?.kind !== "gap") return null;
		return gap.killed ? "nothing" : gap.holds;
	}

	heldLine() {
		return ["handler", "stream", "work"].includes(this.holding) ? this.story.held?.statement.to : null;
	}

	get charges() {
		return this.story.charges.slice(
			0,
			this.shownRuns()
				.flatMap((r) => r.trace)
				.filter((t) => t.kind === "effect").length,
		);
	}

	show(tab) {
		this.tab = tab;
		this.changed();
	}

	// #draw keeps the end of the diagram and the last line that ran in view. A
	// land that does not scroll by itself is left alone.
	#draw() {
		this.changed(true);
		const scrolls = (el) => el && getComputedStyle(el).overflowY === "auto" && el.scrollHeight > el.clientHeight;
		const wire = document.querySelector(".wire-scroll");
		if (scrolls(wire)) wire.scrollTop = wire.scrollHeight;
		const panel = document.querySelector(".panel");
		/** @type {HTMLElement | null} */
		const row = panel?.querySelector(`[data-line="${(this.now() ?? this.shownRuns().at(-1)?.trace.at(-1))?.line}"]`);
		if (!row || !scrolls(panel)) return;
		if (row.offsetTop < panel.scrollTop + 60) panel.scrollTop = row.offsetTop - 60;
		panel.scrollTop = Math.max(panel.scrollTop, row.offsetTop - panel.clientHeight + 80);
	}

	// wire draws the lanes and the caption.
	/**
	 * @param {number} width
	 * @param {{ killable?: string | null, kill?: (instance: string) => void, todo?: string | false }} [acts]
	 */
	wire(width, { killable, kill, todo } = {}) {
		const g = geometry(width);
		const { story } = this;
		const lane = (i) => {
			const name = i.toUpperCase();
			const says = this.#says(i);
			return h(
				"div.lane-head.server",
				{ key: i, class: ["gone", "lost"].includes(says) && "refusal", style: { left: `${g[i]}px` } },
				h("b", g.narrow ? name : `Instance ${name}`),
				killable === i && !this.playing ? button(["kill it", sr(` (instance ${name})`)], () => kill(i), { class: "kill" }) : h("span", says),
			);
		};
		return h(
			"section.wire",
			{ key: "wire", "aria-label": "The wire" },
			h(
				"header.heads",
				h(
					"div.lane-head",
					{ key: "client", class: g.narrow && "left", style: { left: `${g.narrow ? 18 : g.client}px` } },
					h("b", "Client"),
					h("span", story.legacy ? "2025-11-25" : "2026-07-28"),
				),
				lane("a"),
				lane("b"),
			),
			h("div.wire-scroll", { onclick: () => this.skip() }, story.items.length ? diagram(this, width) : preview(story, width)),
			h("div.says", h("p.caption", { "aria-live": "polite", seen: story }, this.caption), todo && h("p.todo", todo)),
		);
	}

	#says(instance) {
		if (this.story.facts.killed === instance) return "gone";
		if (this.lost) return "lost";
		if (!this.story.items.length) return "ready";
		const here = (item) => item?.instance === instance;
		if (this.playing && here(this.next)) return "running";
		return (
			(here(this.story.items.at(-1)) && { handler: "holds 1 handler", stream: "holds the stream", task: "holds 1 task", work: "at work" }[this.holding]) ||
			"idle"
		);
	}

	// server draws the server's land.
	server() {
		const { tabs, holding } = this;
		const choose = (i) => {
			const { id } = tabs.at(i % tabs.length);
			this.show(id);
			document.getElementById(`tab-${id}`).focus();
		};
		const move = { ArrowRight: 1, ArrowLeft: -1 };
		const status = this.playing
			? "running"
			: { nothing: "nothing is held", handler: "a handler is held", stream: "the stream is held", task: "the task is held", work: "at work" }[holding];
		const tab = ({ id, title }, i) =>
			h(
				"button",
				{
					key: id,
					id: `tab-${id}`,
					type: "button",
					role: "tab",
					"aria-selected": String(this.tab === id),
					"aria-controls": "panel",
					tabindex: this.tab === id ? 0 : -1,
					onclick: () => this.show(id),
					onkeydown: (e) => move[e.key] && choose(i + move[e.key]),
				},
				title,
			);
		return h(
			"section.server-land",
			{ key: "server", class: holding === "nothing" && "asleep", "aria-label": "The server" },
			h("div.tab-bar", h("div", { role: "tablist", "aria-label": "What the server shows" }, tabs.map(tab)), h("span.status", status)),
			h("div.panel", { id: "panel", role: "tabpanel", "aria-labelledby": `tab-${this.tab}`, tabindex: 0 }, tabs.find((t) => t.id === this.tab).view()),
			this.#ledger(),
		);
	}

	#state() {
		const { token, opened, story } = this;
		return stateView(
			{ token, opened, story, changed: token === this.changedToken },
			{
				open: () => this.open(),
				close: () => {
					this.opened = null;
					this.changed();
				},
				wire: () => this.actions.choose(story.items.find((i) => i.from === "server" && i.state === token)),
			},
		);
	}

	// open lets the demo's server open the state that is shown.
	async open() {
		const { token, story } = this;
		try {
			const opened = await this.bench.open(token, story.style.tool, { location: story.place });
			if (token !== this.token) return;
			this.opened = opened;
			story.facts.opened = true;
		} catch {
			this.caption = "The connection is lost: no server can open the state.";
		}
		this.changed();
	}

	#ledger() {
		const { charges, story } = this;
		const wrote = (a) => `${story.legacy || story.task ? `run ${a.run}` : `request ${a.number}`}, line ${a.line}${a.instance === "b" ? ", instance B" : ""}`;
		return h(
			"div.ledger",
			{ class: charges.length > 1 && "many", "aria-live": "polite" },
			h("b.count", charges.length),
			h(
				"div",
				h("p", h("b", charges.length === 1 ? "charge" : "charges"), charges.length > 1 ? " for one call" : ": the one effect of this tool"),
				h(
					"ul",
					charges.slice(-3).map((a) => h("li", { key: a.seq }, h("code", a.text), ` ${wrote(a)}`)),
				),
			),
		);
	}
}
