// Attack: one call is attacked on the stage, and every style beside it.

import { attacks, outcome, verdictOf } from "./attacks.js";
import { Bench } from "./bench.js";
import { Call } from "./call.js";
import { h } from "./dom.js";
import { Stage } from "./stage.js";
import { Story } from "./story.js";
import { groups } from "./words.js";

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Attack {
	constructor(app) {
		this.app = app;
		this.stage = new Stage({ changed: (now) => app.draw(now), extraTab: { id: "styles", title: "Every style", view: () => this.#everyStyle() } });
		this.style = app.style("native");
		this.attack = attacks[0];
		this.store = false;
		this.verdicts = new Map(); // by style, attack and store
		this.stage.reset(new Story({ style: this.style, place: "Lisbon", legacy: false }));
	}

	#key(style, attack) {
		return `${style.name} ${attack.id} ${this.store}`;
	}

	async open() {
		if (this.opened) return;
		this.opened = true;
		await this.play();
	}

	// choose changes what is attacked, or how, and plays it.
	choose(change) {
		Object.assign(this, change);
		return this.play();
	}

	// play attacks on the stage, then fills in what the other attacks do to this
	// style, and this attack to the other styles.
	async play() {
		const { attack, style } = this;
		const mine = (this.turn = Symbol("turn"));
		this.stage.skip();
		this.lab ??= await Bench.open();
		if (this.turn !== mine) return;
		const call = this.#call(attack, style, this.lab);
		this.bench = this.lab;
		this.stage.short = attack.short;
		this.stage.reset(call.story, { keepTab: true }).caption = attack.reason;
		this.played = false;
		call.show = async () => {
			if (this.turn === mine) await this.stage.advance();
		};
		this.app.draw();
		const verdict = await this.#run(attack, call);
		if (this.turn === mine) {
			this.stage.caption = outcome(attack, call.story, verdict, this);
			this.played = true;
			this.app.draw();
		}
		await this.#fill(mine);
	}

	async #fill(mine) {
		const rest = [
			...attacks.map((a) => [a, this.style]),
			...this.app.styles.map((s) => [this.attack, s]),
		].filter(([a, s]) => !this.verdicts.has(this.#key(s, a)));
		const slow = rest.filter(([a]) => a.short);
		// Those that wait for a state to expire wait together.
		for (const [a, s] of rest.filter((r) => !slow.includes(r))) {
			if (this.turn !== mine) return;
			await this.#run(a, this.#call(a, s, this.lab));
			this.app.draw();
		}
		if (this.turn !== mine) return;
		await Promise.all(slow.map(([a, s]) => this.#run(a, this.#call(a, s, this.lab))));
		this.app.draw();
	}

	#call(attack, style, bench) {
		return new Call(bench, { style, place: attack.place ?? "Lisbon", store: this.store, short: attack.short });
	}

	async #run(attack, call) {
		const key = this.#key(call.style, attack);
		await call.bench.revive();
		await attack.run(call, { wait });
		await call.bench.revive();
		const verdict = verdictOf(call.story);
		this.verdicts.set(key, verdict);
		return verdict;
	}

	view(width) {
		return [this.#land(), this.stage.wire({ width }), this.stage.server({ bench: this.bench })];
	}

	#badge(style, attack) {
		const v = this.verdicts.get(this.#key(style, attack));
		return v ? h("span", { class: `badge ${v.tone}` }, v.label) : h("span.badge.pending", "…");
	}

	#land() {
		return h("section.client-land.attack-land", { key: "client", "aria-label": "The attacks" },
			h("label.land-title", { for: "attack-style" }, "Attack a call in style"),
			styleSelect(this.app.styles, { id: "attack-style", value: this.style.name, onchange: (e) => this.choose({ style: this.app.style(e.target.value) }) }),
			this.app.bench?.store &&
				h("fieldset.segments", h("legend.sr", "The server remembers its rounds"), h("div", [[false, "no store"], [true, "with a store"]].map(([store, title]) =>
					h("label", h("input", { type: "radio", name: "store", value: String(store), checked: this.store === store, onchange: () => this.choose({ store }) }), h("span", title)),
				))),
			h("ul.attacks",
				attacks.map((a) => {
					const chosen = a === this.attack;
					return h(
						"li",
						{ key: a.id, class: chosen ? "chosen" : "" },
						h("button", { type: "button", "aria-pressed": String(chosen), onclick: () => this.choose({ attack: a }) }, h("b", a.title), this.#badge(this.style, a)),
						chosen && h("div.why", h("p", a.reason), h("p.naive", h("b", "Without care: "), a.naive)),
					);
				}),
			),
		);
	}

	#everyStyle() {
		const { attack } = this;
		return h("div.every",
			h("h2", attack.title),
			h("p.dim", `The same attack on every style, ${attack.place ?? "Lisbon"}, ${this.store ? "with" : "without"} a store.`),
			h("table",
				h("thead", h("tr", h("th", { scope: "col" }, "style"), h("th", { scope: "col" }, "the attack"), h("th", { scope: "col" }, "audits, before → after"))),
				h("tbody",
					this.app.styles.map((s) => {
						const v = this.verdicts.get(this.#key(s, attack));
						return h(
							"tr",
							{ key: s.name, class: s === this.style ? "chosen" : "" },
							h("th", { scope: "row" }, h("button", { type: "button", onclick: () => this.choose({ style: s }) }, h("code", s.name), h("small", s.letter))),
							h("td", this.#badge(s, attack)),
							h("td", v ? (v.before === v.after ? v.after : `${v.before} → ${v.after}`) : ""),
						);
					}),
				),
			),
		);
	}
}

// styleSelect offers the styles by name, in their groups.
export function styleSelect(styles, { id, value, onchange, label }) {
	return h(
		"select",
		{ id, onchange, "aria-label": label },
		groups.map(([group, title]) =>
			h("optgroup", { label: title }, styles.filter((s) => s.group === group).map((s) => h("option", { key: s.name, value: s.name, selected: s.name === value }, `${s.name} (${s.letter})`))),
		),
	);
}
