// The wire: the client's lane, the lanes of both instances, and what goes
// between them, from top to bottom.

import { h } from "./dom.js";
import { envelopeParts } from "./envelope.js";

const LINE = 17; // of a label
const CHAR = 7.55; // the width of a character of a label

// geometry is where the lanes stand in a diagram of this width.
export function geometry(width) {
	return width < 440
		? { width, client: 30, a: width - 110, b: width - 36, box: 62, narrow: true }
		: { width, client: 52, a: width - 190, b: width - 72, box: 92, narrow: false };
}

function wrapped(text, columns) {
	const lines = [];
	let line = "";
	for (const word of text.split(" ")) {
		if (line && (line + " " + word).length > columns) {
			lines.push(line);
			line = word;
		} else {
			line = line ? `${line} ${word}` : word;
		}
	}
	lines.push(line);
	return lines.length > 4 ? [...lines.slice(0, 3), lines[3] + " …"] : lines;
}

// place gives each item its coordinates.
function place(items, g, codeLines) {
	const pitch = Math.max(3, Math.min(100 / codeLines, 5));
	const boxHeight = codeLines * pitch + 14;
	const columns = Math.floor((g.a - g.box / 2 - 8 - (g.client + 20)) / CHAR);
	const placed = [];
	let y = 20;
	let runs = {}; // the last run of each instance since the last request
	for (const item of items) {
		const p = { item, y };
		const lane = g[item.instance];
		if (item.kind === "initialize") {
			p.arrow = y + 24;
			y = p.arrow + 14;
		} else if (item.kind === "message" && item.from === "client") {
			p.title = g.narrow ? item.short ?? item.title : item.title;
			p.lines = item.lines.map((l) => (l.length > 44 ? l.slice(0, 43) + "…" : l));
			p.labels = 1 + p.lines.length + (item.warning ? 1 : 0);
			p.arrow = y + p.labels * LINE + 12;
			p.to = lane - (g.narrow ? 0 : 0);
			y = p.arrow;
			runs = {};
		} else if (item.kind === "run") {
			const last = placed.at(-1);
			const together = last?.item.kind === "run" && last.item.instance !== item.instance;
			p.top = together ? last.top : last?.item.kind === "run" ? y + 12 : y - 6;
			p.height = boxHeight;
			p.pitch = pitch;
			p.left = lane - g.box / 2;
			runs[item.instance] = p;
			y = Math.max(y, p.top + boxHeight);
		} else if (item.kind === "stamp") {
			p.top = y - 4;
			runs[item.instance] = null;
			y += 8;
		} else if (item.kind === "message") {
			const run = runs[item.instance];
			p.title = item.title;
			p.lines = item.lines.flatMap((l) => wrapped(l, run ? columns : columns + 4));
			p.labels = 1 + p.lines.length;
			const least = (run ? run.top : placed.at(-1)?.arrow ?? y) + p.labels * LINE + 22;
			p.arrow = Math.max(run ? run.top + boxHeight - 6 : 0, least, placed.at(-1)?.item.from === "server" ? y + p.labels * LINE + 8 : 0);
			p.labelTop = p.arrow - p.labels * LINE - 8;
			p.run = run;
			if (run && p.arrow > run.top + run.height - 6) run.height = p.arrow + 6 - run.top;
			y = p.arrow + 8;
		} else if (item.kind === "gap") {
			p.middle = y + 40;
			y += 84;
		} else if (item.kind === "rule") {
			p.middle = y + 20;
			y += 32;
		}
		placed.push(p);
	}
	return { placed, height: y + 16 };
}

// diagram draws what the stage has shown of its story. actions: choose(item),
// openState(token), showSource(item).
export function diagram(stage, width, actions) {
	const { story } = stage;
	const g = geometry(width);
	const items = story.items.slice(0, stage.revealing ? stage.shown + 1 : stage.shown);
	const { placed, height } = place(items, g, story.handler.lines.length);
	const bottom = 4000; // the lanes go on as far as one can see
	const fresh = (i) => (i >= stage.roundStart ? " new" : "");
	return h("div.diagram", { style: { height: `${height}px` } },
		h("svg.lines", { width, "aria-hidden": "true" },
			hatch,
			lanes(stage, placed, g, bottom),
			placed.map((p, i) => drawn(p, g, stage, i, fresh(i))),
		),
		placed.map((p, i) => button(p, g, stage, i, fresh(i), actions)),
	);
}

function lanes(stage, placed, g, bottom) {
	const marks = [h("line.lane-client", { key: "client", x1: g.client, x2: g.client, y1: 0, y2: bottom })];
	for (const instance of ["a", "b"]) {
		const x = g[instance];
		const killed = placed.findLast((p) => p.item.kind === "gap" && p.item.killed && p.item.instance === instance);
		const end = killed ? killed.middle : bottom;
		marks.push(h("line", { key: instance, class: "lane-server", x1: x, x2: x, y1: 0, y2: end }));
		placed.forEach((p, i) => {
			if (p.item.kind !== "gap" || p.item.instance !== instance || p.item.holds === "nothing") return;
			const from = placed.slice(0, i).findLast((q) => q.item.kind === "run" && q.item.instance === instance);
			const next = placed.slice(i + 1).find((q) => (q.item.kind === "run" || q.item.kind === "stamp") && q.item.instance === instance);
			const y1 = from ? from.top + from.height : p.y;
			const y2 = p.item.killed ? p.middle - 14 : next ? next.top : p.y + 84;
			marks.push(h("rect", { key: `held${i}`, class: "held", x: x - 8, y: y1, width: 16, height: Math.max(0, y2 - y1) }));
		});
	}
	return marks;
}

function drawn(p, g, stage, i, fresh) {
	const { item } = p;
	const lane = g[item.instance];
	const key = `i${i}`;
	if (item.kind === "initialize") {
		return h("g", { key, class: `arrow client${fresh}` }, line(g.client, lane, p.arrow), head(g.client, p.arrow, -1), head(lane, p.arrow, 1));
	}
	if (item.kind === "message" && item.from === "client") {
		const stamped = stage.story.items[i + 1]?.kind === "stamp";
		const end = lane - (stamped ? 46 : g.box / 2);
		return h(
			"g",
			{ key, class: `arrow client${fresh}${item === stage.chosen ? " chosen" : ""}` },
			line(g.client, end - 6, p.arrow),
			head(end, p.arrow, 1),
			item.number
				? [h("circle.disc", { cx: g.client, cy: p.arrow, r: 11 }), h("text.disc-no", { x: g.client, y: p.arrow + 4 }, item.number)]
				: h("circle.disc", { cx: g.client, cy: p.arrow, r: 4 }),
			item.state && small(end - 36, p.arrow, { torn: item.changed }, "sent", g.client - end + 20),
		);
	}
	if (item.kind === "message") {
		const start = p.run ? lane - g.box / 2 : lane;
		return h(
			"g",
			{ key, class: `arrow ${item.refusal ? "refusal" : "server"}${fresh}${item === stage.chosen ? " chosen" : ""}` },
			line(start, g.client + 6, p.arrow),
			head(g.client, p.arrow, -1),
			item.state && small(start - 36, p.arrow),
		);
	}
	if (item.kind === "run") return run(p, g, stage, i, fresh);
	if (item.kind === "stamp") {
		const x = Math.min(lane, g.width - 50);
		return h(
			"g",
			{ key, class: `stamp ${item.tone}${fresh}`, transform: `rotate(${item.tone === "engine" ? 0 : -4} ${x} ${p.top + 18})` },
			h("rect", { x: x - 48, y: p.top, width: 96, height: 36, rx: 6 }),
			h("text", { x, y: p.top + 23 }, item.label),
		);
	}
	if (item.kind === "gap") {
		const draining = stage.short && !item.killed;
		return h(
			"g",
			{ key, class: `gap${fresh}` },
			item.bytes > 0 &&
				h("g.held-env", { style: { "--dx": `${lane - g.client - 60}px` } },
					h("g", { transform: `translate(${g.client - 32 * (g.narrow ? 0.72 : 1)} ${p.middle - 21 * (g.narrow ? 0.72 : 1)}) rotate(-3 32 21) scale(${g.narrow ? 0.72 : 1})` }, envelopeParts({ draining })),
				),
			item.killed
				? [h("path.cross", { d: `M${lane - 9} ${p.middle - 19}l18 18m0-18l-18 18` }), h("text.killed", { x: lane, y: p.middle + 18 }, "gone")]
				: holds(item.holds, lane, p.middle, g),
		);
	}
	if (item.kind === "rule") {
		const from = 26 + item.label.length * (g.narrow ? 6.6 : 7.1);
		return h(
			"g",
			{ key, class: `rule${fresh}` },
			h("text", { x: 14, y: p.middle + 4 }, item.label),
			h("line", { x1: Math.min(from, g.width - 60), x2: g.width - 14, y1: p.middle, y2: p.middle }),
		);
	}
	return null;
}

const holdWords = { nothing: ["holds", "nothing"], handler: ["holds the", "handler"], stream: ["holds the", "open stream"] };

function holds(what, x, y, g) {
	const words = holdWords[what];
	const half = g.narrow ? 34 : 44;
	return h(
		"g",
		{ class: `holds ${what}` },
		h("rect", { x: x - half, y: y - 19, width: half * 2, height: 38 }),
		words.map((word, i) => h("text", { x, y: y - 3 + i * LINE }, word)),
	);
}

const hatch = h(
	"pattern",
	{ id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
	h("rect.hatch-ground", { width: 7, height: 7 }),
	h("rect.hatch-line", { width: 3.5, height: 7 }),
);

const line = (x1, x2, y) => h("line.shaft", { x1, x2, y1: y, y2: y, pathLength: 1 });
const head = (x, y, to) => h("path.head", { d: `M${x} ${y}l${-9 * to} -5v10z` });

function small(x, y, options = {}, way = "got", from = 0) {
	return h("g", { class: `small ${way}`, style: { "--from": `${from}px` } }, h("g", { transform: `translate(${x - 16} ${y - 11}) scale(.52)` }, envelopeParts(options)));
}

// run draws the handler's own lines as strokes, as far as the run has come.
function run(p, g, stage, i, fresh) {
	const { item } = p;
	const done = i < stage.shown ? item.trace.length : stage.step;
	const lines = stage.story.handler.lines;
	const first = stage.story.handler.from;
	const byLine = new Map();
	for (const t of item.trace.slice(0, done)) byLine.set(t.line, t);
	const scale = (g.box - 14) / 60;
	const y = (n) => p.top + 9 + (n - first) * p.pitch;
	const marks = [];
	const strokes = lines.map((text, n) => {
		const t = byLine.get(first + n);
		const indent = /^\t*/.exec(text)[0].length * 4;
		const length = Math.max(2, Math.min(text.trim().length, 60 - indent));
		if (t?.kind === "effect") marks.push(h("circle.dot", { cx: p.left + g.box, cy: y(first + n), r: 6 }));
		if (t?.kind === "remembered") {
			marks.push(h("g.small", { transform: `translate(${p.left + g.box - 10} ${y(first + n) - 7}) scale(.32)` }, envelopeParts()));
		}
		if (t?.stop) {
			marks.push(h("circle.ask", { cx: p.left + g.box, cy: y(first + n), r: 8 }), h("text.ask-mark", { x: p.left + g.box, y: y(first + n) + 4 }, "?"));
		}
		const kind = t ? (t.kind === "effect" ? "effect" : t.kind === "remembered" ? "remembered" : t.again ? "again" : "ran") : "not";
		const from = p.left + 8 + indent * scale;
		return h("line", { class: `stroke ${kind}`, x1: from, x2: from + length * scale, y1: y(first + n), y2: y(first + n) });
	});
	return h(
		"g",
		{ key: `i${i}`, class: `run${fresh}` },
		h("rect.box", { x: p.left, y: p.top, width: g.box, height: p.height, rx: 6 }),
		strokes,
		marks,
	);
}

// button is what can be clicked and read of an item, over its drawing.
function button(p, g, stage, i, fresh, actions) {
	const { item } = p;
	const key = `b${i}`;
	const at = (left, top, width, height) => ({ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
	const label = (lines, cls) => lines.map((l) => h("span", { class: cls }, l));
	if (item.kind === "initialize") {
		return h(
			"button",
			{ key, class: `msg${fresh}`, type: "button", onclick: () => actions.choose(item), style: at(g.client + 12, p.y - 4, g[item.instance] - g.client - 24, 24), "aria-pressed": String(item === stage.chosen) },
			h("span.dim", g.narrow ? "initialize" : "initialize, revision 2025-11-25"),
		);
	}
	if (item.kind === "message") {
		const client = item.from === "client";
		const top = client ? p.y : p.labelTop;
		const width = client ? g[item.instance] - g.client - (g.narrow ? 0 : 26) : (p.run ? g[item.instance] - g.box / 2 : g[item.instance]) - g.client - 26;
		return h(
			"button",
			{ key, class: `msg ${item.from}${item.refusal ? " refusal" : ""}${fresh}`, type: "button", onclick: () => actions.choose(item), style: at(g.client + 14, top - 4, width, p.labels * LINE + 9), "aria-pressed": String(item === stage.chosen) },
			item.number && h("span.sr", `Request ${item.number}: `),
			h("b", p.title),
			label(p.lines, item.isAnswer ? "answer" : ""),
			item.warning && h("span.warning", item.warning),
			item.state && h("span.sr", ", with the sealed state"),
		);
	}
	if (item.kind === "gap" && item.bytes > 0) {
		return h(
			"button",
			{ key, class: `keeps${fresh}`, type: "button", onclick: () => actions.openState(item.token), style: at(4, p.middle - 26, Math.min(g.client + 200, g[item.instance] - 48), 52) },
			h("b", g.narrow ? "sealed state" : "the client keeps the state"),
			h("span", g.narrow ? `${item.bytes} bytes` : `${item.bytes} bytes, ${item.thought ? `you thought for ${item.thought} s` : "sealed"}`),
		);
	}
	if (item.kind === "gap" && item.holds === "stream") {
		return h("p", { key, class: "note", style: at(g.client + 20, p.middle - 19, 190, 40) }, h("span", "no state:"), h("span", "the call is still open"));
	}
	if (item.kind === "run") {
		return h(
			"button",
			{ key, class: `run-at${fresh}`, type: "button", onclick: () => actions.showSource(item), style: at(p.left, p.top, g.box, p.height) },
			h("span.sr", `${item.resumed ? "The handler goes on" : "The handler runs"} on instance ${item.instance.toUpperCase()}. Show the source.`),
		);
	}
	if (item.kind === "stamp") return h("p", { key, class: "sr" }, `Instance ${item.instance.toUpperCase()}: ${item.label}. The handler is not entered.`);
	if (item.kind === "rule") return h("p", { key, class: "sr" }, `The attack: ${item.label}`);
	return null;
}

// preview draws what is going to happen, before there is a call.
export function preview(story, width) {
	const g = geometry(width);
	const lines = story.handler.lines;
	const { legacy } = story;
	const pitch = Math.max(3, Math.min(100 / lines.length, 5));
	const height = lines.length * pitch + 14;
	const tops = [46, 46 + Math.max(height, 96) + 116];
	const scale = (g.box - 14) / 60;
	const say = legacy
		? [["You call the tool."], ["The server asks you", "over the open request."], ["You answer,", "and the request goes on."], ["The request ends,", "with the result."]]
		: [["You call the tool."], ["It returns a question and", "a sealed state. It keeps nothing."], ["You answer with a second call,", "and the state goes back."], ["It has run again from its top,", "and completes."]];
	const left = g.a - g.box / 2;
	const marks = [];
	const texts = [];
	const sentence = (words, y) => texts.push(h("p.say", { style: { left: `${g.client + 20}px`, top: `${y - words.length * 19 - 8}px`, width: `${left - g.client - 26}px` } }, words.map((w) => h("span", `${w} `))));
	tops.forEach((top, n) => {
		const back = top + Math.max(height, 92) - 6;
		marks.push(
			h("g.arrow.client", line(g.client, left - 6, top + 6), head(left, top + 6, 1)),
			h("rect.box", { x: left, y: top, width: g.box, height: Math.max(height, 92), rx: 6 }),
			lines.map((text, i) => {
				const indent = /^\t*/.exec(text)[0].length * 4;
				const from = left + 8 + indent * scale;
				return h("line.stroke.not", { x1: from, x2: from + Math.max(2, Math.min(text.trim().length, 60 - indent)) * scale, y1: top + 9 + i * pitch, y2: top + 9 + i * pitch });
			}),
			h("g.arrow.server", line(left, g.client + 6, back), head(g.client, back, -1)),
		);
		sentence(say[n * 2], top + 6);
		sentence(say[n * 2 + 1], back);
	});
	const gap = tops[0] + Math.max(height, 92) + 54;
	if (legacy) {
		marks.push(h("rect.held", { x: g.a - 8, y: tops[0] + Math.max(height, 92), width: 16, height: tops[1] - tops[0] - Math.max(height, 92) }));
	} else {
		marks.push(h("g.held-env", h("g", { transform: `translate(${g.client - 32 * (g.narrow ? 0.72 : 1)} ${gap - 30}) rotate(-3 32 21) scale(${g.narrow ? 0.72 : 1})` }, envelopeParts())));
		texts.push(h("p.say.dim", { style: { left: `${g.client + 48}px`, top: `${gap - 20}px`, width: "160px" } }, "the client keeps it"));
	}
	const total = tops[1] + Math.max(height, 92) + 20;
	return h("div.diagram.preview", { style: { height: `${total}px` } },
		h("svg.lines", { width, "aria-hidden": "true" },
			hatch,
			h("line.lane-client", { x1: g.client, x2: g.client, y1: 0, y2: 2000 }),
			["a", "b"].map((i) => h("line.lane-server", { x1: g[i], x2: g[i], y1: 0, y2: 2000 })),
			marks,
		),
		texts,
	);
}
