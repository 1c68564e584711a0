// Compare: two styles side by side, and only what differs marked; then what the
// client saw of each.

import { Bench } from "./bench.js";
import { Call, scripted, usual } from "./call.js";
import { h } from "./dom.js";
import { caption, score } from "./score.js";
import { code } from "./source.js";
import { styleSelect } from "./attack.js";

export class Compare {
	constructor(app) {
		this.app = app;
		this.names = ["native", "once"];
	}

	async open() {
		await this.play();
	}

	async play() {
		const names = this.names.join();
		this.lab ??= await Bench.open();
		const stories = [];
		for (const name of this.names) {
			const call = new Call(this.lab, { style: this.app.style(name), place: "Springfield" });
			await call.play(scripted(usual));
			stories.push(call.story);
		}
		if (names !== this.names.join()) return;
		this.stories = stories;
		this.app.draw();
	}

	choose(i, name) {
		this.names[i] = name;
		this.stories = null;
		this.app.draw();
		this.play();
	}

	view() {
		const styles = this.names.map((n) => this.app.style(n));
		const rows = align(...styles.map(linesOf));
		const differing = rows.filter((r) => r.differs).length;
		const messages = this.stories ? this.#messages() : [];
		const other = messages.filter((m) => !m.same).length;
		const title = `${differing === 0 ? "No line differs" : `${differing} line${differing === 1 ? " differs" : "s differ"}`}. On the wire, ${!this.stories ? "…" : other === 0 ? "none." : `${other} message${other === 1 ? "" : "s"}.`}`;
		return h("div.scrolling.compare", { key: "compare" },
			h("header.intro",
				h("div", h("h1", title), h("p", "Both tools were called just now, with the same answers. The code differs in the marked lines. ", other === 0 ? "The messages are the same: a client cannot tell the styles apart." : "So do some messages; each is listed below.")),
				h("div.selects", [0, 1].map((i) => styleSelect(this.app.styles, { id: `compare-${i}`, label: i ? "The style on the right" : "The style on the left", value: this.names[i], onchange: (e) => this.choose(i, e.target.value) }))),
			),
			h("section.sheet.diff", { "aria-label": "The sources" },
				h("div.pair", styles.map((s, i) => this.#head(s, i))),
				h("div.diff-rows", { tabindex: "0", role: "region", "aria-label": "Both sources, line by line" }, rows.map((r) => diffRow(r, styles))),
			),
			h("section.sheet.saw", h("h2", "What the client saw"), h("p", "Each message of both calls, compared after leaving out what must differ: the tool's name, its own figures in ", h("code", "_meta"), ", and the sealed state, which no client can read."), this.#table(messages)),
		);
	}

	#head(style, i) {
		const story = this.stories?.[i];
		return h("div.style-head",
			h("h2", h("code", style.name), h("small", style.letter)),
			h("p", style.lesson),
			story ? [score(story), h("p.dim", "Springfield: ", caption(story))] : h("p.dim", "calling …"),
		);
	}

	#messages() {
		const [left, right] = this.stories.map((s) => s.items.filter((i) => i.kind === "message"));
		const rows = [];
		for (let i = 0; i < Math.max(left.length, right.length); i++) {
			const [a, b] = [left[i], right[i]];
			rows.push({ a, b, same: Boolean(a && b) && bare(a.message) === bare(b.message) });
		}
		return rows;
	}

	#table(messages) {
		const bytes = (m) => m?.state?.length ?? "none";
		return h("table",
			h("thead", h("tr", h("th", { scope: "col" }, "message"), h("th", { scope: "col", class: "num" }, "sealed state"), h("th", { scope: "col", class: "num" }, "compared"))),
			h("tbody",
				messages.map(({ a, b, same }) => {
					const m = a ?? b;
					return h("tr",
						h("td", h("span", { class: `way ${m.from}`, role: "img", "aria-label": m.from === "client" ? "sent" : "received" }, m.from === "client" ? "→" : "←"), h("code", `${m.title.split(" ")[0]} ${m.lines.join(" ").replace(/^\? /, "")}`)),
						h("td.num.seal", (a?.state || b?.state) && `${bytes(a)} / ${bytes(b)} B`),
						h("td", { class: `num ${same ? "same" : "differs"}` }, same ? "the same" : "differs"),
					);
				}),
			),
		);
	}
}

// bare is a message without what must differ.
function bare(message) {
	return JSON.stringify(message, (key, value) => (key === "_meta" || key === "requestState" || key === "id" || key === "name" ? undefined : value));
}

// linesOf are a style's own lines: the function that makes it, and its handlers.
function linesOf(style) {
	const parts = [style.wiring, ...style.handlers.filter((h, i) => i === 0 || h.name !== style.handlers[0].name)];
	return parts.flatMap((p, n) => [...(n ? [{ text: "" }] : []), ...p.lines.map((text, i) => ({ text, line: p.from + i }))]);
}

// align puts two lists of lines side by side: equal ones beside each other, and
// between them what only one has, in pairs as far as they go.
function align(left, right) {
	const n = left.length;
	const m = right.length;
	const common = Array.from({ length: n + 1 }, () => new Array(m + 1).fill(0));
	const equal = (i, j) => left[i].text.trim() === right[j].text.trim();
	for (let i = n - 1; i >= 0; i--) {
		for (let j = m - 1; j >= 0; j--) common[i][j] = equal(i, j) ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
	}
	const rows = [];
	let only = [[], []];
	const flush = () => {
		const [a, b] = only;
		for (let k = 0; k < Math.max(a.length, b.length); k++) rows.push({ a: a[k], b: b[k], differs: true });
		only = [[], []];
	};
	let i = 0;
	let j = 0;
	while (i < n || j < m) {
		if (i < n && j < m && equal(i, j)) {
			flush();
			rows.push({ a: left[i++], b: right[j++], differs: false });
		} else if (j >= m || (i < n && common[i + 1][j] >= common[i][j + 1])) {
			only[0].push(left[i++]);
		} else {
			only[1].push(right[j++]);
		}
	}
	flush();
	return rows;
}

function diffRow({ a, b, differs }, styles) {
	const cell = (l, side) =>
		h(
			"div",
			{ class: `cell ${side}${differs ? (l ? " differs" : " missing") : ""}` },
			l && [h("span.letter", { "aria-hidden": "true" }, differs ? styles[side === "left" ? 0 : 1].letter : ""), h("span.no", { "aria-hidden": "true" }, l.line), code(l.text)],
		);
	return h("div", { class: `pair${differs ? " differs" : ""}` }, cell(a, "left"), cell(b, "right"));
}
