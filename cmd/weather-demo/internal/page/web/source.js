// The source that runs, with its real line numbers, and beside each line the
// requests that passed it.

import { h } from "./dom.js";

const asking = /(mrtr\.(?:Answer|Need|Once|AskStep|Ask)|\w+\.Over|audit\.Record)\b/;

// code sets the calls that ask or have an effect semibold. Nothing else is
// coloured: the page's colours have other meanings.
export function code(text) {
	const indent = /^\t*/.exec(text)[0].length;
	return h(
		"code",
		{ style: { "--indent": indent } },
		text.trim().split(asking).map((piece, i) => (i % 2 ? h("b", piece) : piece)),
	);
}

// sourceView shows the handler of a stage's story, as far as it has run.
export function sourceView(stage) {
	const { story } = stage;
	const { handler } = story;
	const runs = stage.shownRuns().slice(-5);
	const now = stage.now();
	const held = stage.heldLine();
	const rows = handler.lines.map((text, n) => {
		const line = handler.from + n;
		const passed = runs.map((run) => mark(run, line));
		const effect = runs.some((run) => run.trace.some((t) => t.line === line && t.kind === "effect"));
		const ran = runs.filter((run) => run.trace.some((t) => t.line === line));
		const here = now?.line === line;
		const cls = ["row", ran.length > 0 ? "ran" : "", effect ? "eff" : "", here ? "now" : "", here && now.kind === "effect" ? "now-eff" : "", held === line ? "held-line" : ""];
		return h(
			"div",
			{ key: line, class: cls.join(" "), "data-line": line },
			h("span.marks", { "aria-hidden": "true" }, Array.from({ length: Math.max(0, 1 - runs.length) }, () => h("i")), passed),
			h("span.no", { "aria-hidden": "true" }, line),
			code(text),
			ran.length > 0 && h("span.sr", ` (ran in ${story.legacy ? "run" : "request"} ${ran.map((r) => number(story, r)).join(" and ")})`),
		);
	});
	return h("div.source",
		h("p.wiring", h("span", "Registered as"), story.style.wiring.code.map((c) => h("code", c))),
		h("div.row.heads",
			h("span.marks", runs.length === 0 ? h("i") : runs.map((run) => h("i.disc", number(story, run)))),
			h("span.no"),
			h("span.dim", runs.length === 0 ? "no line has run yet" : story.legacy ? "runs, in this one request" : "requests, and the lines that each one ran"),
		),
		h("div.rows", rows),
		h("p.path.dim", handler.path),
	);
}

const number = (story, run) => (story.legacy ? run.index : run.number);

function mark(run, line) {
	const at = run.trace.find((t) => t.line === line);
	const lines = run.trace.map((t) => t.line);
	const through = line > Math.min(...lines) && line < Math.max(...lines);
	if (!at) return h("i", { class: through ? "through" : "" });
	const cls = at.kind === "remembered" ? "through" : at.again ? "again" : "ran";
	return h(
		"i",
		{ class: cls },
		at.kind === "effect" && h("em.dot"),
		at.kind === "remembered" && h("em.remembered"),
		at.stop && h("em.ask", "?"),
	);
}
