// A score is a call in one line: the client above, the server below, time to the
// right. A column of scores sets the styles apart at a glance.

import { circle, h, line, rect, svg } from "./dom.js";

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
