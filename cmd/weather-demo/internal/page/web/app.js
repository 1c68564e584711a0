// The page: its bar, its views, and the connection to a bench.

import { Attack } from "./attack.js";
import { attacks } from "./attacks.js";
import { Bench, source } from "./bench.js";
import { Compare } from "./compare.js";
import { button, circle, h, path, quiet, render, sr, svg, wait } from "./dom.js";
import { envelope } from "./state.js";
import { Matrix } from "./matrix.js";
import { Play } from "./play.js";
import { tour } from "./words.js";

const titles = { play: "Play a call", attack: "Attack a call", compare: "Compare two styles", matrix: "Every style" };

class App {
	/** @type {HTMLElement} */
	root;
	/** @type {import("./story.js").Style[]} */
	styles;
	/** @type {Bench | null} */
	bench;
	/** @type {"connecting" | "connected" | "lost"} */
	status;
	/** @type {string} */
	view;

	constructor(root, styles) {
		Object.assign(this, { root, styles, bench: null, status: "connecting", view: "play" });
		/** @type {Record<string, any>} */
		this.views = { play: new Play(this), attack: new Attack(this), compare: new Compare(this), matrix: new Matrix(this) };
		addEventListener("hashchange", () => this.#route());
		addEventListener("resize", () => this.draw());
		addEventListener("keydown", (e) => e.key !== "Tab" && this.views[this.view].stage?.skip());
		this.#route();
		this.#connect();
	}

	// style is the one of this name that charges in its last round, or early, or the only one.
	style(name, late = false) {
		const all = this.styles.filter((s) => s.name === name);
		return all.find((s) => s.late === late) ?? all[0];
	}

	go(hash) {
		if (location.hash === `#${hash}`) this.#route();
		else location.hash = hash;
	}

	// play opens a call in Play, from another view.
	play(choice) {
		this.views.play.met = true;
		this.views.play.choose({ resumes: false, late: false, store: false, ...choice });
		this.go("play");
	}

	// attack opens an attack, from another view.
	attack(style, id) {
		this.views.attack.choose({ style, attack: attacks.find((a) => a.id === id) });
		this.go("attack");
	}

	#route() {
		const name = location.hash.slice(1);
		const step = /^tour-([1-9])$/.exec(name)?.[1];
		this.view = this.views[name] ? name : "play";
		if (step) this.views.play.take(Number(step) - 1);
		document.title = `${step ? tour[Number(step) - 1].title : titles[this.view]} · weather-demo`;
		document.body.className = this.view;
		this.draw(true);
		this.root.querySelector("[aria-current=step]")?.scrollIntoView({ inline: "center" }); // in the strip of a phone
		this.open();
		scrollTo(0, 0);
	}

	// open lets the view that is shown make its calls. If they are cut short, the missing
	// ones are made when the connection is back.
	async open() {
		const view = this.views[this.view];
		const again = view.cut;
		view.cut = false;
		try {
			await view.open?.(again);
		} catch {
			view.cut = true;
		}
		this.draw();
	}

	// #connect opens a bench and stays connected to it. A page that was left open
	// for long, or whose server was started again, gets another one.
	async #connect() {
		const { play } = this.views;
		for (let bench = null; ; await wait(1500)) {
			try {
				const kept = await bench?.known();
				if (!kept) bench = await Bench.open(bench ? null : play.kept?.bench);
				await Promise.all(bench.instances.map((i) => bench.killed.has(i) || bench.client(i)));
				this.bench = bench;
				if (this.status === "lost") this.#tell("back", kept);
				this.#say("connected");
				play.restore();
				if (this.views[this.view].cut) this.open();
				await Promise.race(bench.instances.map((i) => lost(bench, i)));
			} catch {
				// The server is not there; the bar says so.
			}
			this.bench = null;
			this.#tell("lost");
			this.#say("lost");
		}
	}

	// #tell lets the views know that the connection is lost or back; kept says that it
	// leads to the same bench.
	#tell(event, kept) {
		for (const view of Object.values(this.views)) view[event]?.(kept);
	}

	#say(status) {
		this.status = status;
		this.draw();
	}

	// focus moves the focus once the page is drawn.
	focus(selector) {
		this.draw(true);
		const found = this.root.querySelector(selector);
		found?.focus({ preventScroll: true });
		// On a phone the caption and the buttons stay, and the question comes between them.
		if (innerWidth <= 760) found?.scrollIntoView({ block: "center" });
	}

	draw(now) {
		if (now) return render(this.root, this.#bar(), h("main", { key: "main", id: "main", tabindex: -1 }, this.#main()));
		this.frame ??= requestAnimationFrame(() => {
			this.frame = null;
			this.draw(true);
		});
	}

	#bar() {
		const link = (view, title) => h("a", { href: `#${view}`, "aria-current": this.view === view && "page" }, title);
		return h(
			"header.bar",
			{ key: "bar" },
			h("p.brand", envelope(34), h("b", "weather-demo"), h("span", "mrtr")),
			h("nav", { "aria-label": "Views" }, link("play", "Play"), link("attack", "Attack"), link("compare", "Compare"), link("matrix", "Matrix")),
			h(
				"p.status",
				{ class: this.status, role: "status" },
				{ connected: "connected, 2 instances", connecting: "connecting", lost: "connection lost, trying again" }[this.status],
			),
			button(svg("half", 20, 20, circle("rim", 10, 10, 7.5), path("dark", "M10 2.5a7.5 7.5 0 0 1 0 15z")), switchTheme, {
				class: "theme",
				"aria-label": "Dark or light",
			}),
		);
	}

	#main() {
		const view = this.views[this.view];
		if (!view.stage) return view.view();
		return [this.#hero(), this.#tour(), h("div.stage", { key: this.view }, view.view(wireWidth()))];
	}

	#hero() {
		return h(
			"div.hero",
			{ key: "hero" },
			this.view === "attack"
				? [
						h("h1", "Try to break it."),
						h("p", "Networks repeat requests, people press twice, clients lie, servers die. Each attack meets a fresh call on two instances with one key."),
					]
				: first,
		);
	}

	#tour() {
		const { step, done } = this.views.play;
		const link = ({ title }, i) => {
			const here = this.view === "play" && step === i;
			const state = here ? "here" : done.has(i) ? "done" : "";
			const hash = `tour-${i + 1}`;
			return h(
				"li",
				h(
					"a",
					{ href: `#${hash}`, class: state, "aria-current": here && "step", onclick: () => void (location.hash === `#${hash}` && this.#route()) },
					h("i", quiet, state === "done" ? "✓" : i + 1),
					title,
					state === "done" && sr(" (done)"),
				),
			);
		};
		return h("nav.tour", { key: "tour", "aria-label": "The tour" }, h("span", "Two minutes:"), h("ol", tour.map(link)));
	}
}

// lost returns when a connection ended that nobody has killed.
async function lost(bench, instance) {
	for (;;) {
		while (bench.killed.has(instance)) await wait(200);
		const client = await bench.client(instance);
		await client.closed;
		if (!bench.killed.has(instance)) return;
	}
}

// wireWidth is how wide the wire is going to be, as style.css lays it out.
function wireWidth() {
	const page = document.documentElement.clientWidth;
	if (page <= 760) return page;
	const stage = Math.min(page, 1440) - 58;
	return page > 1260 ? stage - 844 : stage - 320;
}

function switchTheme() {
	const { dataset } = document.documentElement;
	const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	dataset.theme = dark ? "light" : "dark";
}

// The first words stand in the HTML, before any script has come.
const copy = (node) => node.data ?? h(node.localName, node.className && { class: node.className }, [...node.childNodes].map(copy));
const root = document.getElementById("app");
const first = copy(root.querySelector(".hero")).kids;
let styles = null;
while (!styles) styles = await source().catch(() => wait(1500));
new App(root, styles);
