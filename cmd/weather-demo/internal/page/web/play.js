// Play: a person makes one call, answers its questions, and may kill, open and
// change on the way.

import { lateSwitch, storeSwitch } from "./attack.js";
import { changeOneByte } from "./bench.js";
import { Call } from "./call.js";
import { ConnectionLost } from "./client.js";
import { button, h, radios } from "./dom.js";
import { about, contentOf, fieldsOf, inputsFor } from "./form.js";
import { Stage } from "./stage.js";
import { inHand } from "./state.js";
import { Story, textOf } from "./story.js";
import * as words from "./words.js";

const places = { Lisbon: "", Tokyo: "", Reykjavik: "", Springfield: "There are three, so you will be asked twice.", Atlantis: "There is none." };

// The phases of a call: what the client shows in each and where the focus goes; what its end
// is called if no result tells; and the instance that the user may kill.
const result = { panel: "result", focus: ".result h2" };
const phases = {
	setup: { panel: "setup" },
	calling: { panel: "calling", focus: ".client-land", at: (story) => story.working },
	asked: { panel: "form", focus: "[data-first]", at: (story) => story.facts.asker },
	unanswered: { ...result, kind: "No response", resends: true },
	lost: { ...result, kind: "The connection is gone" },
	ended: result,
};

// Where a call that waits for its user outlives a reload.
const KEPT = "call";
// After so many ms without a response the visitor may stop waiting.
const PATIENCE = 8000;

export class Play {
	cut = false;
	slow = false;
	changed = false;
	lose = false;
	/** @type {string} */
	to;
	/** @type {any} */
	question;
	/** @type {(action: string, content?: any) => void} */
	answer;
	/** @type {(error: Error) => void} */
	giveUp;
	/** @type {() => void} */
	sendAgain;

	constructor(app) {
		this.app = app;
		this.stage = new Stage((now) => app.draw(now));
		this.kept = JSON.parse(sessionStorage.getItem(KEPT));
		/** @type {{ style: string, place: string, era: import("./story.js").Era, resumes: boolean, late: boolean, store: boolean }} */
		this.choice = { style: "native", place: "Lisbon", era: "modern", resumes: false, late: false, store: false };
		// Of the tour.
		this.step = 0;
		// Whether styles and eras have come up, which say nothing to who has not called.
		this.met = false;
		// Steps that were done.
		this.done = new Set();
		this.startOver();
	}

	get style() {
		const { style, resumes, late, era } = this.choice;
		return this.app.style(style === "coroutine" && resumes ? "resumable" : style, late || era === "task");
	}

	startOver() {
		const { choice } = this;
		// The call.
		this.current = null;
		this.phase = "setup";
		// Only a charge in the last round stands above work that takes a task's time.
		if (choice.era === "task" && !this.style.late) choice.style = "once";
		sessionStorage.removeItem(KEPT);
		const caption = words.tour[this.step]?.caption ?? words.opening(choice, this.style);
		this.stage.reset(new Story({ ...choice, style: this.style }), this.app.bench, caption);
	}

	// choose leaves the tour, unless it is a step that chooses.
	choose(change, step = -1) {
		this.step = step;
		Object.assign(this.choice, change);
		this.startOver();
		this.app.draw();
	}

	// take presets a step of the tour.
	take(step) {
		this.met ||= step > 0;
		this.choose({ place: "Lisbon", era: "modern", resumes: false, late: false, store: false, ...words.tour[step].preset }, step);
	}

	call() {
		return this.#play(new Call(this.app.bench, { ...this.choice, style: this.style }));
	}

	// restore goes on with the call that waited when the page was left.
	restore() {
		const { kept, app } = this;
		this.kept = null;
		if (kept?.bench.id !== app.bench.id) return;
		Object.assign(this, { choice: kept.choice, step: kept.step });
		const call = new Call(app.bench, { ...kept.choice, style: this.style });
		call.story = Story.restored(kept.story, this.style);
		this.#play(call, call.story.created ?? call.story.result.result);
	}

	#keep({ bench, story }) {
		if (!story.legacy) sessionStorage.setItem(KEPT, JSON.stringify({ bench: bench.kept, choice: this.choice, step: this.step, story: story.kept }));
	}

	// #enter begins a phase of a call.
	#enter(phase, caption) {
		this.phase = phase;
		this.stage.caption = caption;
		this.slow = false;
		this.app.focus(phases[phase].focus);
		if (phase === "ended") sessionStorage.removeItem(KEPT);
		if (phase !== "calling") return;
		const { current: call } = this;
		setTimeout(() => {
			this.slow = this.current === call && this.phase === phase && !call.story.task;
			this.app.draw();
		}, PATIENCE);
	}

	// #play makes a call, or goes on from its last result.
	async #play(call, last) {
		const { bench, story } = call;
		Object.assign(this, { current: call, met: true, to: last && bench.killed.has("a") ? "b" : "a" });
		this.stage.reset(story, bench);
		if (last) this.stage.shown = story.items.length;
		call.show = async () => {
			if (this.current !== call) return;
			this.stage.caption = words.running(story);
			await this.stage.advance();
			if (story.working) this.stage.caption = words.working(story);
			this.app.draw();
		};
		this.#enter("calling", "The request is on its way.");
		try {
			if (!last) await bench.revive();
			await call.play((question) => this.#ask(call, question), {
				last,
				instance: () => this.to,
				lost: () => this.#unanswered(call),
				change: (params) => {
					const lose = this.lose && Boolean(params.requestState);
					this.lose = false;
					if (lose) return [params, { lose }];
					if (!this.changed || !params.requestState) return [params, {}];
					story.facts.changed = true;
					return [
						{ ...params, requestState: changeOneByte(params.requestState) },
						{ warning: "one byte of the state is changed", changed: true },
					];
				},
			});
			if (this.current === call) this.#enter("ended", words.ended(story) + this.#reached(story));
		} catch (error) {
			if (this.current !== call) return;
			const cutOff = story.legacy && story.facts.killed;
			this.#enter("lost", !(error instanceof ConnectionLost) ? error.message : cutOff ? words.cutOff(cutOff) : words.lost(story, this.phase === "asked"));
			if (cutOff) return;
			story.cut();
			await this.stage.advance();
		}
	}

	// #unanswered returns when the visitor sends the request again whose response was lost.
	async #unanswered(call) {
		if (this.current !== call) return new Promise(() => {});
		const { story } = call;
		this.#enter("unanswered", words.unanswered);
		if (story.items.at(-1).kind !== "rule") story.cut();
		await this.stage.advance();
		return /** @type {Promise<void>} */ (
			new Promise((resolve) => {
				this.sendAgain = () => {
					story.facts.resent = true;
					this.to = call.bench.killed.has(this.to) ? words.other(this.to) : this.to;
					this.#enter("calling", "The request is on its way, once more.");
					resolve();
				};
			})
		);
	}

	#ask(call, question) {
		// The visitor has moved on.
		if (this.current !== call) return new Promise(() => {});
		const { story, bench } = call;
		const { asker } = story.facts;
		Object.assign(this, { question, changed: false, lose: false, to: bench.killed.has(asker) ? words.other(asker) : asker });
		this.#keep(call);
		this.#enter("asked", words.asked(story));
		const asked = performance.now();
		return new Promise((resolve, reject) => {
			this.giveUp = reject;
			this.answer = (action, content) => {
				if (this.phase !== "asked") return;
				story.items.at(-1).thought = Math.round((performance.now() - asked) / 1000);
				this.#enter("calling", "Your answer is on its way.");
				resolve({ action, content });
			};
		});
	}

	async #kill(instance) {
		const { bench, story } = this.current;
		await bench.revive(); // the other one, if it was killed before
		story.kill(instance);
		this.to = words.other(instance);
		this.stage.caption = words.killed(story, instance);
		const killed = bench.kill(instance);
		this.#keep(this.current);
		this.app.focus(phases[this.phase].focus);
		await killed;
	}

	// A question stays open while the connection is lost: all of the call is with the
	// client. Only a legacy call ends with its connection.
	get adrift() {
		return this.phase === "asked" && this.choice.era !== "legacy";
	}

	lost() {
		const told = this.stage.lost; // each attempt to connect ends here
		this.stage.lost = true;
		if (this.adrift && !told) this.stage.caption = words.adrift;
	}

	back(kept) {
		const { stage } = this;
		if (!stage.lost) return;
		stage.lost = false;
		if (this.adrift && kept) stage.caption = words.joined;
		else if (this.adrift) this.giveUp(new ConnectionLost(404));
	}

	// #reached marks the step of the tour as done when its point was made, and says if it was not.
	#reached({ facts }) {
		const { goal } = words.tour[this.step] ?? {};
		if (goal && !facts[goal]) return ` ${words.missed[goal]} this time. Call again, and try it.`;
		this.done.add(this.step);
		return "";
	}

	view(width) {
		const { phase, stage } = this;
		const at = phases[phase].at?.(stage.story);
		const killable = at && this.app.bench && !this.current.bench.killed.has(at) ? at : null;
		const { goal, todo } = words.tour[this.step] ?? {};
		const left = at && !stage.story.facts[goal] && todo;
		return [
			h(
				"section.client-land",
				{ key: "client", tabindex: -1, "aria-label": "Your client" },
				h("p.land-title", "Your client"),
				phase !== "setup" && this.#summary(),
				this.#panels[phases[phase].panel](),
			),
			stage.wire(width, { killable, kill: (i) => this.#kill(i), todo: left }),
			stage.server(),
		];
	}

	#panels = { setup: () => this.#setup(), calling: () => this.#calling(), form: () => this.#form(), result: () => this.#result() };

	#calling() {
		return [
			h("p.lesson", { key: "with" }, `The ${this.choice.era === "task" ? "task" : "request"} is with the server.`),
			this.slow && [
				h("p.lesson", { key: "slow" }, "No response has come. It may still come, or be lost."),
				button("Stop waiting", () => this.current.abandon(), { key: "stop" }),
			],
		];
	}

	#setup() {
		const { choice } = this;
		const tile = (s) => [s.name, h("code", s.name)];
		const late = (name) => this.app.style(name, true).late;
		const offered = this.app.styles.filter((s) => s.name !== "resumable" && !s.late && (choice.era !== "task" || late(s.name)));
		const send = (e) => {
			e.preventDefault();
			this.call();
		};
		return h(
			"form.setup",
			{ key: "setup", onsubmit: send },
			radios(
				"pills",
				"Weather in",
				"place",
				Object.keys(places).map((p) => [p, p]),
				choice.place,
				(place) => this.choose({ place }),
			),
			places[choice.place] && h("p.lesson", places[choice.place]),
			h("p.primary-bar", h("button.primary", { disabled: !this.app.bench }, "Call ", h("code", this.style.tool))),
			h(
				"details",
				{ open: this.met },
				h("summary", "Other ways to write it, and other clients"),
				h(
					"fieldset.styles",
					h("legend", "The tool is written in style"),
					words.groups
						.map(([group, title]) => [title, group, offered.filter((s) => s.group === group).map(tile)])
						.filter(([, , tiles]) => tiles.length)
						.map(([title, group, tiles]) => radios(`tiles.of-${group}`, title, "style", tiles, choice.style, (style) => this.choose({ style }))),
					h("p.lesson", this.style.lesson),
					choice.style === "coroutine" &&
						h(
							"label.switch",
							h("input", { type: "checkbox", checked: choice.resumes, onchange: (e) => this.choose({ resumes: e.target.checked }) }),
							"and replay if the handler is gone",
						),
					choice.era !== "task" && late(choice.style) && lateSwitch(choice.late, (late) => this.choose({ late })),
				),
				storeSwitch(choice.store, (store) => this.choose({ store })),
				radios(
					"segments",
					"The client speaks",
					"era",
					[
						["modern", "2026-07-28"],
						["task", "and takes tasks"],
						["legacy", "legacy, 2025-11-25"],
					],
					choice.era,
					(era) => this.choose({ era }),
				),
			),
		);
	}

	#summary() {
		const again = () => {
			this.startOver();
			this.app.draw();
		};
		return h(
			"p.summary",
			{ key: "summary" },
			h("span", h("code", this.style.tool), ` ${this.choice.place}${{ legacy: ", legacy", task: ", as a task" }[this.choice.era] ?? ""}`),
			button("Start over", again, { class: "link" }),
		);
	}

	#form() {
		const { question, current, app } = this;
		const { legacy, task } = current.story;
		const off = { disabled: !app.bench };
		const fields = fieldsOf(question.requestedSchema);
		const send = (e) => {
			e.preventDefault();
			this.answer("accept", contentOf(e.target, fields));
		};
		const to = (i) => {
			this.to = i;
			this.app.draw();
		};
		return [
			h(
				"form.question",
				{ key: `asked${current.story.items.length}`, onsubmit: send, "aria-label": "The question" },
				fields
					? inputsFor(fields, question.message)
					: h("fieldset", h("legend", question.message), h("pre", JSON.stringify(question.requestedSchema, null, 2))),
				h("p.about", about(question.key, fields, legacy)),
				!legacy &&
					(!app.bench
						? h("p.to.refusal", "The connection is lost. Answer when it is back.")
						: current.bench.killed.size
							? h("p.to", "Answer to ", h("b", `instance ${this.to.toUpperCase()}`), ", the one that is left")
							: radios(
									"to.segments",
									"Answer to",
									"to",
									[
										["a", "instance A"],
										["b", "instance B"],
									],
									this.to,
									to,
								)),
				!legacy &&
					!task &&
					h(
						"label.switch",
						{ key: "lose" },
						h("input", { type: "checkbox", name: "lose", checked: this.lose, onchange: (e) => (this.lose = e.target.checked) }),
						"lose the response",
					),
				h(
					"p.buttons",
					fields && h("button.primary", off, "Answer"),
					button("Decline", () => this.answer("decline"), off),
					button("Dismiss", () => this.answer("cancel"), off),
				),
			),
			!legacy && !task && this.#inHand(),
		];
	}

	#inHand() {
		const { stage, changed } = this;
		const token = this.current.story.states.at(-1);
		const open = () => {
			stage.actions.openState(changed ? stage.changedToken : token);
			stage.open();
		};
		const change = () => {
			this.changed = !changed;
			stage.opened = null;
			stage.token = changed ? token : (stage.changedToken = changeOneByte(token));
			this.app.draw();
		};
		return inHand(token, changed, open, change);
	}

	#result() {
		const { result, error } = (this.phase === "ended" && this.stage.story.result) || {};
		const { app, choice } = this;
		const { kind, resends: again } = phases[this.phase];
		const modern = choice.era === "modern";
		const bad = !result || result.isError;
		const title = error ? `Error ${String(error.code).replace("-", "−")}` : !result ? kind : bad ? "An error result, which the model can read" : "The result";
		const to = this.step < 0 ? words.tour.findIndex((t, i) => !this.done.has(i)) : this.step + 1;
		const next = this.done.has(this.step) && (words.tour[to] ?? { title: "Now try to break it", hash: "attack" });
		const leave = (change) => () => this.choose(change);
		const more = [
			choice.style !== "naive" && ["Put the charge above the question", "Style naive: the same tool, one line moved.", leave({ style: "naive" })],
			modern && ["Send the last answer again", "As a network does, or a second click.", () => app.attack(this.style, "resend")],
			modern && ["Call it as a legacy client", "One request, and the server waits.", leave({ era: "legacy" })],
			modern && ["Take it as a task", "An id at once, and no request that is open.", leave({ era: "task", store: true })],
			["Compare two styles", "What differs in the code, and on the wire.", () => app.go("compare")],
		].filter(Boolean);
		return h(
			"div.result",
			{ key: "result" },
			h("p.kind", { class: bad && "refusal" }, title),
			h("h2", { tabindex: -1 }, error?.message ?? (result ? textOf(result).replace("Weather in ", "") : "No result came.")),
			h(
				"p.stacked",
				again && button("Send the same request again", () => this.sendAgain(), { class: "primary", disabled: !app.bench }),
				next && button(`Next: ${next.title[0].toLowerCase()}${next.title.slice(1)}`, () => app.go(next.hash ?? `tour-${to + 1}`), { class: "primary" }),
				button("Call again", () => this.call(), { class: next || again ? "" : "primary", disabled: !app.bench }),
			),
			next && !words.tour[to] && takeHome(),
			h(
				"ul.next",
				more.map(([title, text, act]) => h("li", button([h("b", title), h("span", text)], act))),
			),
		);
	}
}

// takeHome ends the tour.
const takeHome = () =>
	h(
		"section.home",
		h("h3", "What to take home"),
		h(
			"ul",
			words.home.map((says) => h("li", says)),
		),
		h(
			"p.links",
			[
				["attack", "Attack a call"],
				["compare", "Compare two styles"],
				["matrix", "Every style"],
			].map(([hash, title]) => h("a.link", { href: `#${hash}` }, title)),
		),
	);
