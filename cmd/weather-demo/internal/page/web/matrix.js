// Matrix: every style, both eras, both numbers of questions, made now; and who
// can be asked at all.

import { Bench, quadrant } from "./bench.js";
import { Call, scripted, usual } from "./call.js";
import { ConnectionLost } from "./client.js";
import { button, h, sr, th } from "./dom.js";
import { caption, figures, legend, score } from "./score.js";

/** @type {import("./story.js").Era[]} */
const eras = ["modern", "legacy"];
const columns = eras.flatMap((era) =>
	[
		["Lisbon", "Lisbon: one question"],
		["Springfield", "Springfield: two"],
	].map(([location, title]) => ({ era, location, title })),
);

export class Matrix {
	cut = false;
	stage = null;

	constructor(app) {
		this.app = app;
		this.styles = app.styles.filter((s) => s.name !== "resumable" && !s.late);
		// Stories and failures, by style and column.
		this.cells = new Map();
		this.took = "";
		// Of the quadrant.
		this.calls = [];
	}

	async open(again) {
		if (this.opened && !again) return;
		this.opened = true;
		await Promise.all([this.#play(), quadrant().then((calls) => (this.calls = calls))]);
	}

	// #play makes the calls that were not made yet.
	async #play() {
		const bench = await Bench.open();
		const began = performance.now();
		for (const style of this.styles) {
			for (const c of columns) {
				const cell = style.name + c.era + c.location;
				if (this.cells.has(cell)) continue;
				const call = new Call(bench, { style, place: c.location, era: c.era });
				const outcome = await call.play(scripted(usual)).then(
					() => call.story,
					(error) => error,
				);
				if (outcome instanceof ConnectionLost) throw outcome;
				this.cells.set(cell, outcome);
			}
			this.app.draw();
		}
		this.took = `, ${((performance.now() - began) / 1000).toFixed(1)} s`;
	}

	view() {
		const calls = this.styles.length * columns.length;
		return h(
			"div.scrolling.matrix",
			{ key: "matrix" },
			h(
				"header.intro",
				h(
					"div",
					h("h1", "Every way to write one tool"),
					h(
						"p",
						this.cut ? h("b.refusal", "The connection is lost. What is missing is played when it is back. ") : `${calls} calls, made by this page just now. `,
						"Time runs to the right. Look for yellow above, where the client keeps the call while its user thinks, and for green below, where the server does.",
					),
				),
				h("p.took", { "aria-live": "polite" }, `${this.cells.size} of ${calls}${this.took}`),
			),
			legend(),
			h(
				"table.sheet.grid",
				h(
					"thead",
					h("tr", th("Style", "col", { rowspan: 2 }), th("Modern client", "colgroup", { colspan: 2 }), th("Legacy client", "colgroup", { colspan: 2 })),
					h(
						"tr",
						columns.map((c) => th(c.title)),
					),
				),
				h(
					"tbody",
					this.styles.map((s) =>
						h(
							"tr",
							{ key: s.name, class: `of-${s.group}` },
							th([h("code", s.name), h("small", s.letter), h("p", s.lesson)], "row"),
							columns.map((c) => this.#cell(s, c)),
						),
					),
				),
			),
			this.#quadrant(),
		);
	}

	#cell(style, { era, location }) {
		const story = this.cells.get(style.name + era + location);
		const play = () => this.app.play({ style: style.name, place: location, era });
		return h(
			`td.${location}`,
			h("p.era-name", `${era} client`),
			!story
				? this.cut
					? "not played"
					: "…"
				: story instanceof Error
					? h("span.refusal", story.message)
					: button([sr(`Play ${style.name}, ${era} client, ${location}: `), score(story), caption(story)], play, {
							"data-run": JSON.stringify({ style: style.name, era, location, ...figures(story) }),
						}),
		);
	}

	#quadrant() {
		const outcomes = (stream, era, question, what) =>
			h(
				"div.outcomes",
				h("span", what),
				h(
					"span",
					["asked", "default", "refused"].map((got) => {
						const calls = this.calls.filter((c) => c.stream === stream && c.era === era && c.question === question && c.got === got);
						return (
							calls.length > 0 &&
							h(
								`span.outcome.${got}`,
								h("b", got),
								calls.map((c) => h("i", c.letter)),
							)
						);
					}),
				),
			);
		const corner = (stream, era, title, text) =>
			h("td", h("h3", title), h("p", text), outcomes(stream, era, "units", "units, with a default"), outcomes(stream, era, "place", "place, without one"));
		const row = (stream, title, text, modern, legacy) =>
			h("tr", th([title, h("p", text)], "row"), corner(stream, "modern", "Asked, with a new request", modern), corner(stream, "legacy", ...legacy));
		return h(
			"section.who",
			h("h2", "Who can be asked"),
			h(
				"p",
				"A question reaches a modern client in every case, because its answer is a new request. It reaches a legacy client only over a stream that the server holds. Where there is none, a question with a default takes it, and one without is refused. The letters are those of the styles above.",
			),
			h(
				"table.sheet.quadrant",
				h("thead", h("tr", h("td"), th("Modern client"), th("Legacy client"))),
				h(
					"tbody",
					row(
						true,
						"Server holds a stream",
						"stdio, WebSocket, HTTP with sessions",
						"The call waits with the client, sealed. Only coroutine (H) also holds its handler.",
						["Asked over the stream", "The call waits on the server, in one open request."],
					),
					row(false, "Server holds none", "stateless HTTP, functions", "The same. Any instance with the key goes on, in every style but coroutine (H).", [
						"Cannot be asked",
						"The default, or a refusal that says what is missing.",
					]),
				),
			),
		);
	}
}
