// Matrix: every style, both eras, both numbers of questions, made now; and who
// can be asked at all.

import { Bench, quadrant } from "./bench.js";
import { Call, scripted, usual } from "./call.js";
import { ConnectionLost } from "./client.js";
import { button, circle, h, line, rect, sr, svg, th } from "./dom.js";

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

// A score is a call in one line: the client above, the server below, time to the
// right. A column of scores sets the styles apart at a glance.

// The client's line.
const TOP = 10;
// The server's.
const BOTTOM = 38;
// The width of a user's thought.
const THOUGHT = 46;

export function score(story) {
	const marks = [];
	const dots = [];
	let x = 8;
	let charges = 0;
	// Where the last run ended.
	let ran = 0;
	for (const { kind, from, trace, bytes, holds } of story.items) {
		if (kind === "message") {
			marks.push(line(from === "client" ? "call" : "reply", x, TOP, x, BOTTOM - 4));
			x += from === "client" ? 0 : 2;
		} else if (kind === "run") {
			const step = Math.max(6, trace.length * 1.6) / trace.length;
			for (const t of trace) {
				marks.push(rect(t.again ? "again" : "ran", x, BOTTOM - 5, step + 0.3, 10));
				if (t.kind === "effect") dots.push(charges++ > 0 && circle("twice", x, BOTTOM, 8), circle("dot", x, BOTTOM, 4.5));
				x += step;
			}
			ran = x;
		} else if (kind === "gap") {
			if (bytes) marks.push(rect("keeps", x + 1, TOP - 6, THOUGHT, 12, 2));
			if (holds !== "nothing") marks.push(line("holds", ran, BOTTOM, x + THOUGHT + 4, BOTTOM));
			x += THOUGHT + 2;
		}
	}
	return svg("score", x + 10, 48, line("client", 0, TOP, x + 10, TOP), line("server", 0, BOTTOM, x + 10, BOTTOM), marks, dots);
}

// figures are the numbers of a story, as weather-demo -json names them.
export const figures = (story) => ({
	rounds: story.requests,
	questions: story.asked,
	effects: story.charges.length,
	handler_entries: story.entries,
	state_bytes: story.sealedBytes,
	is_error: Boolean(story.result?.result?.isError),
});

export function caption(story) {
	const { rounds, effects, handler_entries, state_bytes, is_error } = figures(story);
	if (is_error) return h("b.refusal", "error result");
	return h(
		"span.figures",
		`${rounds} request${rounds > 1 ? "s" : ""}, entered ${handler_entries}, `,
		h("b", { class: effects > 1 ? "many" : "effect" }, `charged ${effects}`),
		state_bytes > 0 && [", ", h("span.seal", `${state_bytes} B`)],
	);
}

export const legend = () =>
	h(
		"ul.legend",
		[
			["client", line("client", 0, 7, 26, 7)],
			["server, holding nothing", line("server", 0, 7, 26, 7)],
			["code runs", rect("ran", 2, 2, 20, 10)],
			["runs again", rect("again", 2, 2, 20, 10)],
			["client keeps the sealed state", rect("keeps", 2, 2, 20, 10, 2)],
			["server holds a handler or a stream", line("holds", 1, 7, 25, 7)],
			["charge; and again", circle("dot", 5, 7, 4), circle("twice", 19, 7, 6), circle("dot", 19, 7, 3.5)],
		].map(([words, ...shapes]) => h("li", svg("score", 30, 14, shapes), words)),
	);
