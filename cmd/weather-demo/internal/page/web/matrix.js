// Matrix: every style, both eras, both numbers of questions, made now; and who
// can be asked at all.

import { Bench, quadrant } from "./bench.js";
import { Call, scripted, usual } from "./call.js";
import { h } from "./dom.js";
import { caption, figures, legend, score } from "./score.js";

const columns = [
	{ legacy: false, place: "Lisbon", title: "Lisbon: one question" },
	{ legacy: false, place: "Springfield", title: "Springfield: two" },
	{ legacy: true, place: "Lisbon", title: "Lisbon: one question" },
	{ legacy: true, place: "Springfield", title: "Springfield: two" },
];

const cellKey = (style, c) => `${style.name} ${c.legacy ? "legacy" : "modern"} ${c.place}`;

export class Matrix {
	constructor(app) {
		this.app = app;
		this.cells = new Map(); // stories and failures
		this.took = null;
		this.quadrant = null;
	}

	get styles() {
		return this.app.styles.filter((s) => s.name !== "resumable");
	}

	async open() {
		if (this.opened) return;
		this.opened = true;
		quadrant().then((calls) => {
			this.quadrant = calls;
			this.app.draw();
		});
		const bench = await Bench.open();
		const began = performance.now();
		for (const style of this.styles) {
			for (const c of columns) {
				const call = new Call(bench, { style, place: c.place, legacy: c.legacy });
				try {
					await call.play(scripted(usual));
					this.cells.set(cellKey(style, c), call.story);
				} catch (error) {
					this.cells.set(cellKey(style, c), error);
				}
			}
			this.app.draw();
		}
		this.took = performance.now() - began;
		this.app.draw();
	}

	view() {
		const total = this.styles.length * columns.length;
		return h("div.scrolling.matrix", { key: "matrix" },
			h("header.intro",
				h("div", h("h1", "Ten ways to write one tool"), h("p", "Forty calls, made by this page just now. Time runs to the right. Look for yellow above, where the client keeps the call while its user thinks, and for green below, where the server does.")),
				h("p.took", { "aria-live": "polite" }, this.took === null ? `${this.cells.size} of ${total}` : `${this.cells.size} of ${total}, ${(this.took / 1000).toFixed(1)} s`),
			),
			legend(),
			h("table.sheet.grid",
				h("thead",
					h("tr", h("th", { scope: "col", rowspan: 2 }, "Style"), h("th", { scope: "colgroup", colspan: 2 }, "Modern client"), h("th", { scope: "colgroup", colspan: 2 }, "Legacy client")),
					h("tr", columns.map((c) => h("th", { scope: "col", class: `sub ${c.place}` }, c.title))),
				),
				h("tbody", this.styles.map((s) => this.#row(s))),
			),
			this.#quadrant(),
		);
	}

	#row(style) {
		return h(
			"tr",
			{ key: style.name, class: `of-${style.group}` },
			h("th", { scope: "row" }, h("code", style.name), h("small", style.letter), h("p", style.lesson)),
			columns.map((c) => {
				const cell = this.cells.get(cellKey(style, c));
				const era = c.legacy ? "legacy client" : "modern client";
				return h(
					"td",
					{ class: `${c.place} ${c.legacy ? "legacy" : "modern"}` },
					h("p.era-name", era),
					!cell
						? h("span.dim", "…")
						: cell instanceof Error
							? h("span.refusal", cell.message)
							: h("button", { type: "button", "data-run": JSON.stringify({ style: style.name, era: c.legacy ? "legacy" : "modern", location: c.place, ...figures(cell) }), onclick: () => this.app.play({ style: style.name, place: c.place, legacy: c.legacy }) }, h("span.sr", `Play ${style.name}, ${era}, ${c.place}: `), score(cell), caption(cell)),
				);
			}),
		);
	}

	#quadrant() {
		const cell = (stream, era, title, text) =>
			h("td",
				h("h3", title),
				h("p", text),
				["units", "place"].map((question) => {
					const calls = (this.quadrant ?? []).filter((c) => c.stream === stream && c.era === era && c.question === question);
					return h("div.outcomes",
						h("span", question === "units" ? "units, with a default" : "place, without one"),
						h("span", ["asked", "default", "refused"].map((got) => {
							const of = calls.filter((c) => c.got === got);
							return of.length > 0 && h("span", { class: `outcome ${got}` }, h("b", got), of.map((c) => h("i", c.letter)));
						})),
					);
				}),
			);
		return h("section.who",
			h("h2", "Who can be asked"),
			h("p", "A question reaches a modern client in every case, because its answer is a new request. It reaches a legacy client only over a stream that the server holds. Where there is none, a question with a default takes it, and one without is refused."),
			h("table.sheet.quadrant",
				h("thead", h("tr", h("td"), h("th", { scope: "col" }, "Modern client"), h("th", { scope: "col" }, "Legacy client"))),
				h("tbody",
					h("tr", h("th", { scope: "row" }, "Server holds a stream", h("p", "stdio, WebSocket, HTTP with sessions")), cell(true, "modern", "Asked, with a new request", "The call waits with the client, sealed. H alone holds its handler besides."), cell(true, "legacy", "Asked over the stream", "The call waits on the server. E alone never asks a legacy client here.")),
					h("tr", h("th", { scope: "row" }, "Server holds none", h("p", "stateless HTTP, functions")), cell(false, "modern", "Asked, with a new request", "The same. Any instance with the key goes on, in every style but H."), cell(false, "legacy", "Cannot be asked", "The default, or a refusal that says what is missing.")),
				),
			),
			h("p.key.dim", this.styles.filter((s) => s.group !== "exhibit").map((s) => h("span", h("b", s.letter), ` ${s.name} `))),
		);
	}
}
