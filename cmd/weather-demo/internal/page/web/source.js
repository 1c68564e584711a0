// The source that runs, with its real line numbers, and beside each line the
// requests that passed it.

import { h, quiet, sr } from "./dom.js";

const asking = /(mrtr\.(?:Answer|Need|Once|Ask\w*)|\w+\.AskOver|card\.Charge)\b/;

// code sets the calls that ask or have an effect semibold. Nothing else is
// coloured: the page's colours have other meanings.
export const code = (line) =>
	h(
		"code",
		{ style: { "--indent": /^\t*/.exec(line)[0].length } },
		line
			.trim()
			.split(asking)
			.map((piece, i) => (i % 2 ? h("b", piece) : piece)),
	);

// sourceView shows the handler of a stage's story, as far as it has run.
export function sourceView(stage) {
	const { legacy, task, handler } = stage.story;
	const runs = stage.shownRuns().slice(-5);
	const number = (run) => (legacy || task ? run.index : run.number);
	const now = stage.now();
	const held = stage.heldLine();
	const rows = handler.lines.map((text, n) => {
		const line = handler.from + n;
		const ran = runs.filter((run) => run.trace.some((t) => t.line === line));
		const marks = {
			ran: ran.length,
			eff: ran.some((run) => run.trace.some((t) => t.line === line && t.kind === "effect")),
			now: now?.line === line,
			"now-eff": now?.line === line && now.kind === "effect",
			held: held === line,
		};
		return h(
			"div.row",
			{
				key: line,
				class: Object.keys(marks)
					.filter((m) => marks[m])
					.join(" "),
				"data-line": line,
			},
			h("span.marks", quiet, runs.length ? runs.map((run) => mark(run, line)) : h("i")),
			h("span.no", quiet, line),
			code(text),
			ran.length > 0 && sr(` (ran in ${legacy || task ? "run" : "request"} ${ran.map(number).join(" and ")})`),
		);
	});
	return [
		h(
			"div.row.heads",
			h("span.marks", runs.length ? runs.map((run) => h("i.disc", number(run))) : h("i")),
			h("span.no"),
			h(
				"span.dim",
				!runs.length ? "no line has run yet" : legacy || task ? `runs, in this one ${task ? "task" : "request"}` : "requests, and the lines that each one ran",
			),
		),
		rows,
		h("p.path.dim", handler.path),
	];
}

function mark({ trace }, line) {
	const at = trace.find((t) => t.line === line);
	const lines = trace.map((t) => t.line);
	const through = line > Math.min(...lines) && line < Math.max(...lines) ? "through" : "";
	return h(
		"i",
		{ class: !at ? through : at.kind === "remembered" ? "through" : at.again ? "again" : "ran" },
		at && at.kind !== "ran" && h("em", { class: at.kind }),
		at?.stop && h("em.ask", "?"),
	);
}
