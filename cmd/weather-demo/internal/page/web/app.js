// The page: its bar, its views, and the connection to a bench.

import { Attack } from "./attack.js";
import { attacks } from "./attacks.js";
import { Bench, source } from "./bench.js";
import { Compare } from "./compare.js";
import { h, render } from "./dom.js";
import { envelope } from "./envelope.js";
import { Matrix } from "./matrix.js";
import { Play } from "./play.js";
import { tour } from "./words.js";

class App {
	constructor(root, styles) {
		this.root = root;
		this.styles = styles;
		this.bench = null;
		this.status = "connecting";
		this.views = { play: new Play(this), attack: new Attack(this), compare: new Compare(this), matrix: new Matrix(this) };
		this.view = "play";
		addEventListener("hashchange", () => this.#route());
		addEventListener("resize", () => this.draw());
		addEventListener("keydown", (e) => {
			if (!["Tab", "Shift", "Control", "Alt", "Meta"].includes(e.key)) this.views[this.view].stage?.skip();
		});
		this.#route();
		this.#connect();
	}

	style(name) {
		return this.styles.find((s) => s.name === name);
	}

	go(hash) {
		if (location.hash === `#${hash}`) this.#route();
		else location.hash = hash;
	}

	// play opens a call in Play, from another view.
	play(choice) {
		this.views.play.step = null;
		this.go("play");
		this.views.play.choose({ resumes: false, ...choice });
	}

	// attack opens an attack, from another view.
	attack(style, id) {
		const view = this.views.attack;
		view.opened = true;
		this.go("attack");
		view.choose({ style: this.style(style), attack: attacks.find((a) => a.id === id) });
	}

	#route() {
		const name = location.hash.slice(1) || "play";
		const step = /^tour-([1-6])$/.exec(name)?.[1];
		if (step) this.views.play.take(Number(step) - 1);
		this.view = step ? "play" : this.views[name] ? name : "play";
		document.body.className = this.view;
		this.draw();
		this.views[this.view].open?.();
		scrollTo(0, 0);
	}

	// #connect opens a bench and stays connected to it. A page that was left open
	// for long, or whose server was started again, gets another one.
	async #connect() {
		for (;;) {
			try {
				this.bench = await Bench.open();
				const clients = await Promise.all(this.bench.instances.map((i) => this.bench.client(i)));
				this.#say("connected");
				await this.#lost(clients);
			} catch {
				// The server is not there; the bar says so.
			}
			this.#say("lost");
			await new Promise((resolve) => setTimeout(resolve, 1500));
		}
	}

	// #lost returns when a connection ended that nobody has killed.
	async #lost(clients) {
		const bench = this.bench;
		const watch = async (instance, client) => {
			for (;;) {
				await client.closed;
				if (!bench.killed.has(instance)) return;
				while (bench.killed.has(instance)) await new Promise((resolve) => setTimeout(resolve, 200));
				client = await bench.client(instance);
			}
		};
		await Promise.race(bench.instances.map((instance, i) => watch(instance, clients[i])));
	}

	#say(status) {
		this.status = status;
		this.draw();
	}

	// focus moves the focus once the page is drawn.
	focus(selector) {
		this.draw(true);
		this.root.querySelector(selector)?.focus({ preventScroll: true });
	}

	draw(now = false) {
		if (!now) {
			this.frame ??= requestAnimationFrame(() => {
				this.frame = null;
				this.draw(true);
			});
			return;
		}
		render(this.root, this.#bar(), h("main", { key: "main", id: "main", tabindex: "-1" }, this.#main()));
	}

	#bar() {
		const link = (view, title) => h("a", { href: `#${view}`, "aria-current": this.view === view ? "page" : null }, title);
		const said = { connected: "connected, 2 instances", connecting: "connecting", lost: "connection lost, trying again" }[this.status];
		return h("header.bar", { key: "bar" },
			h("p.brand", envelope(34), h("b", "weather-demo"), h("span", "mrtr")),
			h("nav", { "aria-label": "Views" }, link("play", "Play"), link("attack", "Attack"), link("compare", "Compare"), link("matrix", "Matrix")),
			h("p", { class: `status ${this.status}`, role: "status" }, said),
			h("button", { type: "button", class: "theme", "aria-label": "Dark or light", onclick: switchTheme }, h("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" }, h("circle", { cx: 10, cy: 10, r: 7.5 }), h("path", { d: "M10 2.5a7.5 7.5 0 0 1 0 15z" }))),
		);
	}

	#main() {
		const view = this.views[this.view];
		if (this.view === "compare" || this.view === "matrix") return view.view();
		return [this.#hero(), this.#tour(), h("div", { key: "stage", class: `stage ${this.view}` }, view.view(this.#wireWidth()))];
	}

	// #wireWidth is how wide the wire is going to be, as style.css lays it out.
	#wireWidth() {
		const page = document.documentElement.clientWidth;
		if (page <= 760) return page;
		const stage = Math.min(page, 1440) - 56 - 2;
		return page > 1260 ? stage - 348 - 496 : stage - 320;
	}

	#hero() {
		if (this.view === "attack") {
			return h("div.hero", { key: "hero" },
				h("h1", "Now try to break it."),
				h("p", "Networks repeat requests, people press twice, clients lie, and servers die while a user thinks. Each attack plays against a fresh call, on two instances that share a key. See what is refused, what goes on, and what happens twice."),
			);
		}
		const term = (cls, text) => h("b", { class: `term ${cls}` }, text);
		return h("div.hero", { key: "hero" },
			h("h1", "A tool asks, forgets, ", h("br"), "and starts again."),
			h("p",
				"A tool server can no longer wait for its user. ", term("server", "The server"), " returns its question with a ", term("seal", "sealed state"),
				", and keeps nothing. ", term("client", "Your client"), " asks you, then calls the same tool again, from its top, with your answer and the state. Do it here, and then try to break it.",
			),
		);
	}

	#tour() {
		const { step, done } = this.views.play;
		return h("nav.tour", { key: "tour", "aria-label": "The tour" },
			h("span", "Two minutes:"),
			h("ol",
				tour.map((t, i) => {
					const here = this.view === "play" && step === i;
					const state = here ? "here" : done.has(i) ? "done" : "";
					return h("li", h("a", { href: `#tour-${i + 1}`, class: state, "aria-current": here ? "step" : null, onclick: () => location.hash === `#tour-${i + 1}` && this.#route() }, h("i", { "aria-hidden": "true" }, state === "done" ? "✓" : i + 1), t.title, state === "done" && h("span.sr", " (done)")));
				}),
			),
		);
	}
}

function switchTheme() {
	const root = document.documentElement;
	const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	root.dataset.theme = dark ? "light" : "dark";
}

const { styles } = await source();
new App(document.getElementById("app"), styles);
