// Compare: two styles side by side, and only what differs marked; then what the
// client saw of each.

import { styleSelect } from "./attack.js";
import { Bench, sideBySide } from "./bench.js";
import { Call, scripted, usual } from "./call.js";
import { h, quiet, th } from "./dom.js";
import { caption, score } from "./matrix.js";
import { code } from "./source.js";

export class Compare {
	cut = false;
	stage = null;

	constructor(app) {
		this.app = app;
		this.pair = [app.style("native"), app.style("once")];
		this.stories = [];
		this.rows = [];
	}

	lost() {
		this.lab = null;
	}

	async open() {
		const { pair } = this;
		const rows = await sideBySide(...pair.map((s) => s.name));
		const lab = (this.lab ??= await Bench.open());
		const stories = [];
		for (const style of pair) {
			const call = new Call(lab, { style, place: "Springfield" });
			await call.play(scripted(usual));
			stories.push(call.story);
		}
		// Others were chosen meanwhile.
		if (pair !== this.pair) return;
		Object.assign(this, { stories, rows });
	}

	view() {
		const { pair, stories, rows } = this;
		const differing = rows.filter((r) => r.differs).length;
		const messages = compared(...stories.map((s) => s.items.filter((i) => i.kind === "message")));
		const others = messages.filter((m) => !m.same).length;
		const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
		const select = (i) =>
			styleSelect(
				this.app.styles.filter((s) => !s.late),
				pair[i].name,
				(style) => {
					this.pair = this.pair.with(i, style);
					this.stories = [];
					this.app.open();
				},
				{ id: `compare-${i}`, "aria-label": `The style on the ${i ? "right" : "left"}` },
			);
		const head = (s, i) =>
			h(
				"div.style-head",
				h("h2", h("code", s.name), h("small", s.letter)),
				h("p", s.lesson),
				stories[i] ? [score(stories[i]), h("p.dim", "Springfield: ", caption(stories[i]))] : h("p.dim", this.cut ? "not called" : "calling …"),
			);
		return h(
			"div.scrolling.compare",
			{ key: "compare" },
			h(
				"header.intro",
				h(
					"div",
					this.cut
						? [h("h1", "The connection is lost."), h("p", "Both tools are called again when it is back.")]
						: [
								h(
									"h1",
									`${differing === 1 ? "1 line differs" : `${count(differing, "line")} differ`}. On the wire, ${!stories.length ? "…" : others ? `${count(others, "message")}.` : "none."}`,
								),
								h(
									"p",
									`Both tools ${stories.length ? "were called just now" : "are being called"}, with the same answers. The code differs in the marked lines. `,
									!stories.length ? "" : others ? "So do some messages, listed below." : "The messages are the same: a client cannot tell the styles apart.",
								),
							],
				),
				h("div.selects", select(0), select(1)),
			),
			h(
				"section.sheet.diff",
				{ "aria-label": "The sources" },
				h("div.pair", pair.map(head)),
				h(
					"div.diff-rows",
					rows.map((r) => diffRow(r, pair)),
				),
			),
			h(
				"section.sheet.saw",
				h("h2", "What the client saw"),
				h(
					"p",
					"Each message of both calls, compared after leaving out what must differ: the tool's name, the figures in ",
					h("code", "_meta"),
					", and the sealed state, which no client can read.",
				),
				h(
					"table",
					h("thead", h("tr", th("message"), th("sealed state", "col", { class: "num" }), th("compared", "col", { class: "num" }))),
					h("tbody", messages.map(messageRow)),
				),
			),
		);
	}
}

function messageRow({ a, b, same }) {
	const { from, title, lines } = a ?? b;
	const sent = from === "client";
	const bytes = (m) => m?.state?.length ?? "none";
	return h(
		"tr",
		h(
			"td",
			h(`span.way.${from}`, { role: "img", "aria-label": sent ? "sent" : "received" }, sent ? "→" : "←"),
			h("code", `${title.split(" ")[0]} ${lines.join(" ").replace(/^\? /, "")}`),
		),
		h("td.num.seal", (a?.state || b?.state) && `${bytes(a)} / ${bytes(b)} B`),
		h("td.num", { class: same ? "same" : "refusal" }, same ? "the same" : "differs"),
	);
}

// compared puts the messages of two calls side by side.
function compared(left = [], right = []) {
	const bare = (m) => JSON.stringify(m?.message, (key, value) => (["_meta", "requestState", "id", "name"].includes(key) ? undefined : value));
	return Array.from({ length: Math.max(left.length, right.length) }, (_, i) => ({ a: left[i], b: right[i], same: bare(left[i]) === bare(right[i]) }));
}

function diffRow({ a, b, differs }, styles) {
	const cell = (l, i) =>
		h(
			`div.cell.${i ? "right" : "left"}`,
			{ class: differs && (l ? "differs" : "missing") },
			l && [h("span.side", quiet, differs && styles[i].letter), h("span.no", quiet, l.line), code(l.text)],
		);
	return h("div.pair", { class: differs && "differs" }, cell(a, 0), cell(b, 1));
}
