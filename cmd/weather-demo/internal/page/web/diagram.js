// The wire: the client's lane, the lanes of both instances, and what goes
// between them, from top to bottom.

import { button, circle, h, line, path, quiet, rect, sr, text } from "./dom.js";
import { envelopeParts } from "./state.js";

// Of a label.
const LINE = 17;
// The width of one of its characters.
const CHAR = 7.55;

// geometry is where the lanes stand in a diagram of this width.
export const geometry = (width) =>
	width < 440
		? { width, client: 30, a: width - 110, b: width - 36, box: 62, narrow: true, scale: 0.72 }
		: { width, client: 52, a: width - 190, b: width - 72, box: 92, narrow: false, scale: 1 };

// place gives each item its coordinates: top, and where its arrow is.
function place(items, g, codeLines, preview) {
	const pitch = Math.max(3, Math.min(100 / codeLines, 5));
	const columns = Math.floor((g.a - g.box / 2 - g.client - 28) / (preview ? 6.8 : CHAR));
	const split = (item) => (preview ? wrapped(item.title, columns) : [item.title, ...item.lines.flatMap((l) => wrapped(l, columns))]);
	const placed = [];
	let y = 20;
	// The last run of each instance since the last request.
	let runs = {};
	for (const item of items) {
		const p = { item, y, lane: g[item.instance] };
		const last = placed.at(-1);
		if (item.kind === "initialize") {
			p.arrow = y + 24;
			y += 38;
		} else if (item.kind === "message" && item.from === "client") {
			p.top = y;
			[p.title, ...p.lines] = split(item);
			p.labels = 1 + p.lines.length + (item.warning ? 1 : 0);
			y = p.arrow = y + p.labels * LINE + 12;
			runs = {};
		} else if (item.kind === "run") {
			const together = last?.item.kind === "run" && last.item.instance !== item.instance;
			p.top = together ? last.top : last?.item.kind === "run" ? y + 12 : y - 6;
			Object.assign(p, { pitch, height: Math.max(codeLines * pitch, 78) + 14, left: p.lane - g.box / 2 });
			runs[item.instance] = p;
			y = Math.max(y, p.top + p.height);
		} else if (item.kind === "stamp") {
			p.top = y - 4;
			y += 8;
		} else if (item.kind === "message") {
			p.run = runs[item.instance];
			[p.title, ...p.lines] = split(item);
			p.labels = 1 + p.lines.length;
			const least = (p.run?.top ?? last?.arrow ?? y) + p.labels * LINE + 22;
			p.arrow = Math.max(p.run ? p.run.top + p.run.height - 6 : 0, least, last?.item.from === "server" ? y + p.labels * LINE + 8 : 0);
			p.top = p.arrow - p.labels * LINE - 8;
			if (p.run) p.run.height = Math.max(p.run.height, p.arrow + 6 - p.run.top);
			y = p.arrow + 8;
		} else if (item.kind === "gap") {
			p.middle = y + 40;
			y += 84;
		} else {
			p.middle = y + 20;
			y += 32;
		}
		placed.push(p);
	}
	return { placed, height: y + 16 };
}

function wrapped(words, columns) {
	const lines = [""];
	for (const word of words.split(" ")) {
		if (lines.at(-1) && lines.at(-1).length + word.length >= columns) lines.push(word);
		else lines.push(`${lines.pop()} ${word}`.trim());
	}
	return lines;
}

// diagram draws what a stage has shown of its story.
export function diagram(stage, width) {
	const { story } = stage;
	const g = geometry(width);
	const { placed, height } = place(story.items.slice(0, stage.shown + (stage.revealing ? 1 : 0)), g, story.handler.lines.length, stage.preview);
	const fresh = (i) => (i >= stage.roundStart ? "new" : "");
	return h(
		"div.diagram",
		{ class: stage.preview && "preview", style: { height: `${height}px` } },
		h(
			"svg.lines",
			{ width, ...quiet },
			hatch,
			lanes(placed, g),
			placed.map((p, i) => draw[p.item.kind](p, g, stage, i, { key: i, class: fresh(i) })),
		),
		placed.map((p, i) => label(p, g, stage, { key: i, class: fresh(i) })),
	);
}

const hatch = h(
	"pattern",
	{ id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
	rect("hatch-ground", 0, 0, 7, 7),
	rect("hatch-line", 0, 0, 3.5, 7),
);

function lanes(placed, g) {
	// As far as one can see.
	const end = 4000;
	const of = (instance) => {
		const mine = (p, ...kinds) => p.item.instance === instance && kinds.includes(p.item.kind);
		const gaps = placed.filter((p) => mine(p, "gap"));
		const held = gaps
			.filter((p) => p.item.holds !== "nothing")
			.map((p) => {
				const i = placed.indexOf(p);
				const from = placed.slice(0, i).findLast((q) => mine(q, "run"));
				const next = placed.slice(i).find((q) => mine(q, "run", "stamp"));
				const top = from ? from.top + from.height : p.y;
				return rect("held", g[instance] - 8, top, 16, Math.max(0, (p.item.killed ? p.middle - 14 : (next?.top ?? p.y + 84)) - top));
			});
		return [line("lane-server", g[instance], 0, g[instance], gaps.find((p) => p.item.killed)?.middle ?? end), held];
	};
	return [line("lane-client", g.client, 0, g.client, end), of("a"), of("b")];
}

const shaft = (x1, x2, y) => line("shaft", x1, y, x2, y, { pathLength: 1 });
const head = (x, y, to) => path("head", `M${x} ${y}l${-9 * to}-5v10z`);
const small = (x, y, way, from, options) =>
	h(`g.small.${way}`, { style: { "--from": `${from}px` } }, h("g", { transform: `translate(${x - 16} ${y - 11})scale(.52)` }, envelopeParts(options)));

const draw = {
	initialize: (p, g, stage, i, props) => h("g.arrow.client", props, shaft(g.client, p.lane, p.arrow), head(g.client, p.arrow, -1), head(p.lane, p.arrow, 1)),

	message(p, g, stage, i, props) {
		const { item, lane, arrow } = p;
		if (item === stage.chosen) props.class += " chosen";
		if (item.from === "server") {
			const start = p.run ? lane - g.box / 2 : lane;
			return h(
				`g.arrow.${item.refusal ? "refusal" : "server"}`,
				props,
				shaft(start, g.client + 6, arrow),
				head(g.client, arrow, -1),
				item.state && small(start - 36, arrow, "got"),
			);
		}
		const end = lane - (stage.story.items[i + 1]?.kind === "stamp" ? 46 : stage.story.task ? 0 : g.box / 2);
		return h(
			"g.arrow.client",
			props,
			shaft(g.client, end - 6, arrow),
			head(end, arrow, 1),
			!stage.preview && circle("disc", g.client, arrow, item.number ? 11 : 4),
			item.number && text("disc-no", g.client, arrow + 4, item.number),
			item.state && small(end - 36, arrow, "sent", g.client - end + 20, { torn: item.changed }),
		);
	},

	// A run is the handler's own lines as strokes, as far as it has come.
	run(p, g, stage, i, props) {
		const { trace } = p.item;
		const { lines, from } = stage.story.handler;
		const passed = new Map(trace.slice(0, i < stage.shown ? trace.length : stage.step).map((t) => [t.line, t]));
		const edge = p.left + g.box;
		const scale = (g.box - 14) / 60;
		const marks = [];
		const strokes = lines.map((code, n) => {
			const t = passed.get(from + n);
			const y = p.top + 9 + n * p.pitch;
			const indent = /^\t*/.exec(code)[0].length * 4;
			if (t?.kind === "effect") marks.push(circle("dot", edge, y, 6));
			if (t?.kind === "remembered") marks.push(h("g", { transform: `translate(${edge - 10} ${y - 7})scale(.32)` }, envelopeParts()));
			if (t?.stop) marks.push(circle("ask", edge, y, 8), text("ask-mark", edge, y + 4, "?"));
			const x = p.left + 8 + indent * scale;
			const kind = !t ? "not" : t.kind !== "ran" ? t.kind : t.again ? "again" : "ran";
			return line(`stroke.${kind}`, x, y, x + Math.max(2, Math.min(code.trim().length, 60 - indent)) * scale, y);
		});
		return h("g.run", props, rect("box", p.left, p.top, g.box, p.height, 6), strokes, marks);
	},

	stamp(p, g, stage, i, props) {
		const { label, tone } = p.item;
		const x = Math.min(p.lane, g.width - 50);
		return h(
			`g.stamp.${tone}`,
			props,
			h(
				"g",
				{ transform: `rotate(${tone === "engine" ? 0 : -4} ${x} ${p.top + 18})` },
				rect("frame", x - 48, p.top, 96, 36, 6),
				text("word", x, p.top + 23, label),
			),
		);
	},

	gap(p, g, stage, i, props) {
		const { bytes, killed, holds } = p.item;
		const { lane, middle } = p;
		const half = g.narrow ? 34 : 44;
		const words = {
			nothing: ["holds", "nothing"],
			handler: ["holds the", "handler"],
			stream: ["holds the", "open stream"],
			task: ["holds", "the task"],
			work: ["works on", "the task"],
		}[holds];
		return h(
			"g.gap",
			props,
			bytes > 0 &&
				h(
					"g.held-env",
					{ style: { "--dx": `${lane - g.client - 60}px` } },
					h(
						"g",
						{ transform: `translate(${g.client - 32 * g.scale} ${middle - 21 * g.scale})rotate(-3 32 21)scale(${g.scale})` },
						envelopeParts({ draining: stage.short && !killed }),
					),
				),
			killed
				? [path("cross", `M${lane - 9} ${middle - 19}l18 18m0-18l-18 18`), text("killed", lane, middle + 18, "gone")]
				: !stage.preview &&
						h(
							`g.holds.${holds}`,
							rect("ground", lane - half, middle - 19, half * 2, 38),
							words.map((word, n) => text("word", lane, middle - 3 + n * LINE, word)),
						),
		);
	},

	rule: (p, g, stage, i, props) =>
		h(
			"g.rule",
			props,
			text("word", 14, p.middle + 4, p.item.label),
			line("dashes", Math.min(30 + p.item.label.length * 7, g.width - 60), p.middle, g.width - 14, p.middle),
		),
};

// label is what can be read and clicked of an item, over its drawing.
function label(p, g, stage, { key, class: fresh }) {
	const { item } = p;
	const { actions } = stage;
	const at = (left, top, width, height) => ({ key, style: { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` } });
	const lines = (all, cls = "line") => all.map((l) => h(`span.${cls}`, l));
	const choose = (props, cls, ...kids) =>
		button(kids, () => actions.choose(item), { ...props, class: `msg ${cls} ${fresh}`, "aria-pressed": String(item === stage.chosen) });
	switch (item.kind) {
		case "initialize":
			return choose(at(g.client + 12, p.y - 4, p.lane - g.client - 24, 24), "", lines([g.narrow ? "initialize" : "initialize, revision 2025-11-25"]));
		case "message": {
			const right = item.from === "client" ? p.lane - (g.narrow ? 0 : 12) : p.run ? p.lane - g.box / 2 - 12 : p.lane - 12;
			const props = at(g.client + 14, p.top - 4, right - g.client - 14, p.labels * LINE + 9);
			if (stage.preview) return h("p.say", props, h("b", p.title), lines(p.lines));
			return choose(
				props,
				item.refusal ? "refusal" : "",
				item.number && sr(`Request ${item.number}: `),
				h("b", (g.narrow && item.short) || item.title),
				lines(p.lines, item.isAnswer ? "answer" : "line"),
				item.warning && h("span.warning", item.warning),
				item.state && sr(", with the sealed state"),
			);
		}
		case "gap": {
			const props = at(g.client + 40 * g.scale, p.middle - 23, p.lane - g.client - 76, 46);
			if (stage.preview) return item.bytes > 0 && h("p.say.dim", props, lines(["", "the client keeps it"]));
			if (item.bytes > 0) {
				return button(
					[
						h("b", g.narrow ? "sealed state" : "the client keeps the state"),
						lines([`${item.bytes} bytes${g.narrow ? "" : item.thought ? `, you thought for ${item.thought} s` : ", sealed"}`]),
					],
					() => actions.openState(item.token),
					{ ...props, class: `keeps ${fresh}` },
				);
			}
			return h(
				"p.note",
				props,
				lines(["no state:", item.holds === "stream" ? `${g.narrow ? "" : "the call is "}still open` : `${g.narrow ? "" : "the client has "}the task's id`]),
			);
		}
		case "run":
			if (stage.preview) return null;
			return button(sr(`The handler ${item.resumed ? "goes on" : "runs"} on instance ${item.instance.toUpperCase()}. Show the source.`), actions.showSource, {
				...at(p.left, p.top, g.box, p.height),
				class: "run-at",
			});
		default:
			return sr(item.label, item.kind === "stamp" ? `, by instance ${item.instance.toUpperCase()}. The handler is not entered.` : "");
	}
}

// preview is a story that has not happened: what a call is going to be.
export function preview(story, width) {
	const a = { instance: "a" };
	const client = { ...a, kind: "message", from: "client" };
	const server = { ...client, from: "server" };
	const run = { ...a, kind: "run", trace: [] };
	const say = (message, title) => ({ ...message, title });
	const { engine } = story.handler;
	const held = ["Coroutine", "Resumable"].includes(engine);
	const goesOn = held
		? "It goes on where it stopped"
		: ({ Steps: "It goes on with the next step", Given: "It enters the handler" }[engine] ?? "It has run again from its top");
	const rest =
		story.place === "Atlantis"
			? [say(server, "It fails before it asks.")]
			: story.task
				? [
						say(server, "You get the id of a task, at once."),
						run,
						say(client, "You ask for the task, by its id."),
						say(server, "It asks you, and waits."),
						{ ...a, kind: "gap", bytes: 0, holds: "nothing" },
						say(client, "You answer it."),
						say(server, "The server has your answer."),
						run,
						say(client, "You ask for it again, now and then."),
						say(server, "It has completed."),
					]
				: story.legacy
					? [
							say(server, "The server asks you over the open request."),
							{ ...a, kind: "gap", bytes: 0, holds: "stream" },
							say(client, "You answer, and the request goes on."),
							run,
							say(server, "The request ends, with the result."),
						]
					: [
							say(server, `It returns a question and a sealed state. It ${held ? "holds the handler" : "keeps nothing"}.`),
							{ ...a, kind: "gap", bytes: 1, holds: held ? "handler" : "nothing" },
							say(client, "You answer with a second call, and the state goes back."),
							run,
							say(server, `${goesOn}, ${story.place === "Springfield" ? "asks once more, and then" : "and"} completes.`),
						];
	const items = [say(client, "You call the tool."), !story.task && run, ...rest].filter(Boolean);
	return diagram({ story: { items, handler: story.handler }, shown: items.length, preview: true, actions: {} }, width);
}
