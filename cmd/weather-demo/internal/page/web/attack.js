// Attack: one call is attacked on the stage, and every style beside it.

import { attacks, outcome, verdictOf } from "./attacks.js";
import { Bench } from "./bench.js";
import { Call } from "./call.js";
import { button, h, radios, th, wait } from "./dom.js";
import { Stage } from "./stage.js";
import { Story } from "./story.js";
import { groups } from "./words.js";

export class Attack {
	cut = false;
	// Whether the chosen attack was played on the stage.
	staged = false;
	/** @type {symbol} */
	turn;
	/** @type {Bench | null} */
	lab = null;

	constructor(app) {
		this.app = app;
		this.stage = new Stage((now) => app.draw(now), { id: "styles", title: "Every style", view: () => this.#everyStyle() });
		this.style = app.style("native");
		this.attack = attacks[0];
		this.store = false;
		// Whether every style charges in its last round.
		this.late = true;
		this.played = Promise.resolve([]);
		// By style, attack and store.
		this.verdicts = new Map();
		this.stage.reset(new Story({ style: this.style }), null, "");
	}

	// Every style, with its charge in the last round where it can be moved there.
	get styles() {
		return this.app.styles.filter((s) => !s.late).map((s) => this.app.style(s.name, this.late));
	}

	async open(again) {
		if (!this.turn || again) await this.choose({});
	}

	// choose changes what is attacked, or how. An attack may have killed a server that
	// the next one needs, so it waits for the one that is being played.
	async choose(change) {
		Object.assign(this, change, { cut: false, staged: false });
		this.style = this.styles.find((s) => s.name === this.style.name) ?? this.styles[0];
		const mine = (this.turn = Symbol());
		this.stage.skip();
		this.app.draw();
		const short = (this.played = this.played.catch(() => 0).then(() => this.#play(mine)));
		// Those that wait for a state to expire wait together.
		try {
			await Promise.all((await short).map((run) => run()));
		} catch (error) {
			if (this.turn === mine) await this.#cutShort(error);
		}
		this.app.draw();
	}

	// #cutShort leaves without a verdict what was not played to its end.
	async #cutShort(error) {
		const { stage } = this;
		this.cut = true;
		this.lab = null;
		if (this.staged) return;
		stage.caption = `The attack was cut short, so there is no verdict: ${error.message}. It is played again when the connection is back.`;
		if (!stage.story.items.length) return;
		stage.story.cut();
		await stage.advance();
	}

	lost() {
		this.stage.lost = true;
		this.lab = null;
	}

	back() {
		this.stage.lost = false;
	}

	// play plays an attack on the stage. Then it fills in what the other attacks do to
	// this style, and this attack to others, and returns those that take their time.
	async #play(mine) {
		const { attack, style, stage } = this;
		const lab = (this.lab ??= await Bench.open());
		if (this.turn !== mine) return [];
		const call = this.#call(lab, attack, style);
		stage.short = attack.short;
		stage.reset(call.story, lab, attack.reason);
		call.show = async () => this.turn === mine && stage.advance();
		const verdict = await this.#run(attack, call);
		this.staged ||= this.turn === mine;
		if (this.turn === mine) stage.caption = verdict.says;
		const rest = [...attacks.map((a) => [a, style]), ...this.styles.map((s) => [attack, s])].filter((r) => !this.#verdict(...r));
		for (const [a, s] of rest) {
			this.app.draw();
			if (this.turn !== mine) return [];
			if (!a.short) await this.#run(a, this.#call(lab, a, s));
		}
		return rest
			.filter(([a]) => a.short)
			.map(
				([a, s]) =>
					() =>
						this.#run(a, this.#call(lab, a, s)),
			);
	}

	#call(lab, attack, style) {
		return new Call(lab, { style, place: attack.place ?? "Lisbon", store: this.store, short: attack.short });
	}

	async #run(attack, call) {
		const { store } = this;
		await call.bench.revive();
		await attack.run(call, wait);
		await call.bench.revive();
		const verdict = verdictOf(call.story);
		verdict.says = outcome(attack, call.story, verdict, store);
		verdict.story = call.story;
		this.verdicts.set(`${call.style.tool} ${attack.id} ${store}`, verdict);
		return verdict;
	}

	#verdict(attack, style) {
		return this.verdicts.get(`${style.tool} ${attack.id} ${this.store}`);
	}

	view(width) {
		return [this.#land(), this.stage.wire(width), this.stage.server()];
	}

	#badge(attack, style) {
		const short = this.cut && !this.staged && attack === this.attack && style === this.style;
		const { tone, label } = (!short && this.#verdict(attack, style)) || { tone: "pending", label: short ? "cut short" : this.cut ? "not played" : "…" };
		return h(`span.badge.${tone}`, label);
	}

	#land() {
		const row = (a) => {
			const chosen = a === this.attack;
			return h(
				"li",
				{ key: a.id, class: chosen && "chosen" },
				button([h("b", a.title), this.#badge(a, this.style)], () => this.choose({ attack: a }), { "aria-pressed": String(chosen) }),
				chosen && h("div.why", h("p", a.reason), h("p", h("b", "Without care: "), "a server that ", a.naive)),
			);
		};
		return h(
			"section.client-land.attack-land",
			{ key: "client", "aria-label": "The attacks" },
			h("label.land-title", { for: "attack-style" }, "Attack a call in style"),
			styleSelect(this.styles, this.style.name, (style) => this.choose({ style }), { id: "attack-style" }),
			lateSwitch(this.late, (late) => this.choose({ late })),
			storeSwitch(this.store, (store) => this.choose({ store })),
			h("ul.attacks", attacks.map(row)),
		);
	}

	#everyStyle() {
		const { attack } = this;
		const row = (s) => {
			const seen = this.#verdict(attack, s);
			const { before, after } = seen ?? {};
			return h(
				"tr",
				{ key: s.name, class: s === this.style && "chosen", seen },
				th(
					button([h("code", s.name), h("small", s.letter)], () => this.choose({ style: s })),
					"row",
				),
				h("td", this.#badge(attack, s)),
				h("td", before === after ? after : `${before} → ${after}`),
			);
		};
		return h(
			"div.every",
			h("h2", attack.title),
			h("p.dim", `The same attack on every style, ${attack.place ?? "Lisbon"}, ${this.store ? "with" : "without"} a store.`),
			h(
				"table",
				h(
					"thead",
					h(
						"tr",
						["style", "outcome", "charges, before → after"].map((t) => th(t)),
					),
				),
				h("tbody", this.styles.map(row)),
			),
		);
	}
}

// lateSwitch moves the charge into the last round.
export const lateSwitch = (checked, choose) =>
	h(
		"label.switch",
		{ key: "late" },
		h("input", { type: "checkbox", name: "late", checked, onchange: (e) => choose(e.target.checked) }),
		"charge in the last round",
	);

// storeSwitch lets the server remember its rounds.
export const storeSwitch = (on, choose) =>
	radios(
		"segments",
		"The server remembers its rounds",
		"store",
		[
			["off", "no store"],
			["on", "with a store"],
		],
		on ? "on" : "off",
		(value) => choose(value === "on"),
	);

// styleSelect offers the styles by name, in their groups.
export const styleSelect = (styles, value, choose, props) =>
	h(
		"select",
		{ onchange: (e) => choose(styles.find((s) => s.name === e.target.value)), ...props },
		groups.map(([group, label]) =>
			h(
				"optgroup",
				{ label },
				styles.filter((s) => s.group === group).map((s) => h("option", { value: s.name, selected: s.name === value }, `${s.name} (${s.letter})`)),
			),
		),
	);
