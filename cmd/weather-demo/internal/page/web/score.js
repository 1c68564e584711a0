// A score is a call in one line: the client above, the server below, time to the
// right. A column of scores tells styles apart at a glance.

import { h } from "./dom.js";

const TOP = 10; // the client's line
const BOTTOM = 38; // the server's
const think = 46; // the width of a user's thought

export function score(story) {
	const marks = [];
	const under = [];
	let x = 8;
	let audits = 0;
	let box = 0; // where the current run ends
	for (const [i, item] of story.items.entries()) {
		if (item.kind === "message") {
			const down = item.from === "client";
			const refused = item.refusal && !story.items.slice(0, i).findLast((p) => p.kind === "run" || p.from === "client")?.trace;
			marks.push(h("line", { class: down ? "call" : item.refusal ? "refused" : "reply", x1: x, x2: x, y1: TOP, y2: BOTTOM - 4 }));
			if (!down && item.refusal) marks.push(h("path.cross", { d: `M${x + 3} ${TOP - 5}l8 8m0-8l-8 8` }));
			if (refused) x += 4;
			if (!down) x += 2;
		} else if (item.kind === "run") {
			const width = Math.max(6, item.trace.length * 1.6);
			item.trace.forEach((t, n) => {
				const at = x + (n * width) / item.trace.length;
				marks.push(h("rect", { class: t.again ? "again" : "ran", x: at, y: BOTTOM - 5, width: width / item.trace.length + 0.3, height: 10 }));
			});
			for (const [n, t] of item.trace.entries()) {
				if (t.kind !== "effect") continue;
				const at = x + ((n + 0.5) * width) / item.trace.length;
				if (audits++ > 0) under.push(h("circle.twice", { cx: at, cy: BOTTOM, r: 8 }));
				under.push(h("circle.dot", { cx: at, cy: BOTTOM, r: 4.5 }));
			}
			x += width;
			box = x;
		} else if (item.kind === "gap") {
			if (item.bytes > 0) marks.push(h("rect.keeps", { x: x + 1, y: TOP - 6, width: think, height: 12, rx: 2 }));
			if (item.holds !== "nothing") marks.push(h("line.holds", { x1: box, x2: x + think + 4, y1: BOTTOM, y2: BOTTOM }));
			x += think + 2;
		}
	}
	const width = x + 10;
	return h("svg.score", { viewBox: `0 0 ${width} 48`, width, height: 48, "aria-hidden": "true" },
		h("line.client", { x1: 0, x2: width, y1: TOP, y2: TOP }),
		h("line.server", { x1: 0, x2: width, y1: BOTTOM, y2: BOTTOM }),
		marks,
		under,
	);
}

const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// figures are the numbers of a story, as weather-demo prints them.
export function figures(story) {
	return {
		rounds: story.requests,
		handler_entries: story.entries,
		effects: story.audits.length,
		state_bytes: story.sealedBytes,
		questions: story.asked,
		is_error: Boolean(story.result?.result?.isError),
	};
}

export function caption(story) {
	const f = figures(story);
	if (f.is_error) return h("span.figures", h("b.refusal", "refused"));
	return h("span.figures",
		`${count(f.rounds, "request")}, entered ${f.handler_entries}, `,
		h("b", { class: f.effects > 1 ? "many" : "effect" }, `audit ${f.effects}`),
		f.state_bytes > 0 && [", ", h("span.seal", `${f.state_bytes} B`)],
		story.legacy && f.questions.length === 0 && ", default",
	);
}

const key = (cls, text, ...shapes) => h("li", h("svg.score", { viewBox: "0 0 30 14", width: 30, height: 14, "aria-hidden": "true" }, shapes), text);

export function legend() {
	return h("ul.legend",
		key("", "client", h("line.client", { x1: 0, x2: 26, y1: 7, y2: 7 })),
		key("", "server, holding nothing", h("line.server", { x1: 0, x2: 26, y1: 7, y2: 7 })),
		key("", "code runs", h("rect.ran", { x: 2, y: 2, width: 20, height: 10 })),
		key("", "runs again", h("rect.again", { x: 2, y: 2, width: 20, height: 10 })),
		key("", "client keeps the sealed state", h("rect.keeps", { x: 2, y: 2, width: 20, height: 10, rx: 2 })),
		key("", "server holds a handler or a stream", h("line.holds", { x1: 1, x2: 25, y1: 7, y2: 7 })),
		key("", "audit; and again", h("circle.dot", { cx: 5, cy: 7, r: 4 }), h("circle.twice", { cx: 19, cy: 7, r: 6 }), h("circle.dot", { cx: 19, cy: 7, r: 3.5 })),
		key("", "refused", h("path.cross", { d: "M8 3l8 8m0-8l-8 8" })),
	);
}
