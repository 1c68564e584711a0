// Play: a person makes one call, answers its questions, and may kill, open and
// change on the way.

import { changeOneByte } from "./bench.js";
import { Call } from "./call.js";
import { ConnectionLost } from "./client.js";
import { about, contentOf, fieldsOf, inputsFor } from "./form.js";
import { h } from "./dom.js";
import { Stage, holdsState } from "./stage.js";
import { Story, textOf } from "./story.js";
import * as words from "./words.js";

export class Play {
	constructor(app) {
		this.app = app;
		this.stage = new Stage({ changed: (now) => app.draw(now) });
		this.stage.onopened = () => this.reached();
		this.choice = { style: "native", place: "Lisbon", legacy: false, resumes: false };
		this.step = null; // of the tour
		this.done = new Set(); // steps that were done
		this.startOver();
	}

	get style() {
		const { style, resumes } = this.choice;
		return this.app.style(style === "coroutine" && resumes ? "resumable" : style);
	}

	startOver() {
		this.phase = "setup"; // setup, calling, asked, ended, lost
		this.question = null;
		this.changed = false;
		this.answer = null;
		this.bench?.revive();
		const { place, legacy } = this.choice;
		this.stage.reset(new Story({ style: this.style, place, legacy }));
		this.stage.changedToken = null;
		this.stage.caption = this.step === null ? words.tour[0].caption : words.tour[this.step].caption;
		if (this.step === null) this.stage.caption = this.opening();
	}

	opening() {
		const { style, place, legacy } = this.choice;
		if (style === "native" && place === "Lisbon" && !legacy) return words.tour[0].caption;
		if (place === "Atlantis") return "Press Call. There is no such place, so the tool will fail before it asks.";
		if (legacy) return words.tour[5].caption;
		return `Press Call. ${this.style.lesson}`;
	}

	choose(change) {
		Object.assign(this.choice, change);
		this.startOver();
		this.app.draw();
	}

	// take presets a step of the tour.
	take(step) {
		this.step = step;
		const { style, place, legacy = false } = words.tour[step];
		this.choice = { style, place, legacy, resumes: false };
		this.startOver();
	}

	async call() {
		const { place, legacy } = this.choice;
		this.bench = this.app.bench;
		await this.bench.revive();
		const call = new Call(this.bench, { style: this.style, place, legacy });
		this.current = call;
		this.to = "a";
		this.phase = "calling";
		this.stage.reset(call.story).caption = legacy ? "The request is on its way, and stays open." : "The request is on its way.";
		call.show = async () => {
			if (this.current !== call) return;
			if (!call.story.result) this.stage.caption = words.running(call.story);
			if (call.story.requests > 1 || call.story.runs > 1) this.stage.caption = words.running(call.story);
			await this.stage.advance();
		};
		this.app.focus(".client-land");
		try {
			await call.play((question) => this.#ask(call, question), {
				instance: () => this.to,
				change: (params) => {
					if (!this.changed) return [params, {}];
					call.story.facts.changed = true;
					return [{ ...params, requestState: changeOneByte(params.requestState) }, { warning: "one byte of the state is changed", changed: true }];
				},
			});
		} catch (error) {
			if (this.current !== call) return;
			this.phase = "lost";
			this.stage.caption = error instanceof ConnectionLost ? words.cutOff(call.story.facts.asker ?? "a") : String(error.message);
			this.app.draw();
			return;
		}
		if (this.current !== call) return;
		this.phase = "ended";
		this.stage.caption = words.ended(call.story);
		this.reached();
		this.app.draw();
		this.app.focus(".result h2");
	}

	#ask(call, question) {
		if (this.current !== call) return new Promise(() => {}); // the visitor has moved on
		this.phase = "asked";
		this.question = question;
		this.changed = false;
		this.to = this.bench.killed.has("a") ? "b" : call.story.facts.asker ?? "a";
		this.stage.caption = words.asked(call.story);
		this.askedAt = performance.now();
		this.app.draw();
		this.app.focus("[data-first]");
		return new Promise((resolve) => {
			this.answer = (result) => {
				const gap = call.story.items.findLast((i) => i.kind === "gap");
				if (gap) gap.thought = Math.round((performance.now() - this.askedAt) / 1000);
				this.phase = "calling";
				this.question = null;
				this.answer = null;
				this.stage.caption = words.running(call.story);
				this.app.draw();
				resolve(result);
			};
		});
	}

	async kill(instance) {
		await this.bench.kill(instance);
		this.current.story.kill(instance);
		this.to = instance === "a" ? "b" : "a";
		this.stage.caption = words.killed(this.current.story, instance);
		this.app.draw();
		this.app.focus("[data-first]");
	}

	// reached marks the step as done when its point was made.
	reached() {
		if (this.step === null) return;
		const { goal } = words.tour[this.step];
		const { story } = this.stage;
		if (this.phase !== "ended" && goal !== "opened") return;
		if (!goal || story.facts[goal]) this.done.add(this.step);
		else if (this.phase === "ended") this.stage.caption += ` ${words.missedGoal(goal)}`;
	}

	view(width) {
		const { stage } = this;
		const asker = stage.story.facts.asker ?? "a";
		const killable = this.phase === "asked" && !this.bench.killed.has(asker) && this.bench.killed.size === 0 ? asker : null;
		return [this.#land(), stage.wire({ width, killable, onkill: (i) => this.kill(i) }), stage.server({ bench: this.bench })];
	}

	#land() {
		return h("section.client-land", { key: "client", tabindex: "-1", "aria-label": "Your client" },
			h("p.land-title", "Your client"),
			this.phase === "setup" ? this.#setup() : [this.#summary(), this.#middle()],
		);
	}

	#setup() {
		const { choice } = this;
		return h("form.setup", { key: "setup", onsubmit: (e) => { e.preventDefault(); this.call(); } },
			h("fieldset.styles",
				h("legend", "The tool is written in style"),
				words.groups.map(([group, title]) =>
					h(
						"div",
						{ class: `group of-${group}` },
						h("p.group-title", title),
						h("div.tiles",
							this.app.styles.filter((s) => s.group === group && s.name !== "resumable").map((s) =>
								h(
									"label",
									{ key: s.name, class: "tile" },
									h("input", { type: "radio", name: "style", value: s.name, checked: choice.style === s.name, onchange: () => this.choose({ style: s.name }) }),
									h("span", h("code", s.name), h("small", s.letter)),
								),
							),
						),
					),
				),
				h("p.lesson", this.style.lesson),
				choice.style === "coroutine" &&
					h("label.switch", h("input", { type: "checkbox", checked: choice.resumes, onchange: (e) => this.choose({ resumes: e.target.checked }) }), h("span", "and replay where the frame is gone")),
			),
			h("fieldset.segments",
				h("legend", "The client speaks"),
				h("div", [[false, "2026-07-28"], [true, "legacy, 2025-11-25"]].map(([legacy, title]) =>
					h("label", h("input", { type: "radio", name: "era", value: String(legacy), checked: choice.legacy === legacy, onchange: () => this.choose({ legacy }) }), h("span", title)),
				)),
			),
			h("fieldset.pills",
				h("legend", "Weather in"),
				h("div", Object.keys(words.places).map((place) =>
					h("label", h("input", { type: "radio", name: "place", value: place, checked: choice.place === place, onchange: () => this.choose({ place }) }), h("span", place)),
				)),
				words.places[choice.place] && h("p.lesson", words.places[choice.place]),
			),
			h("p.primary-bar", h("button.primary", { disabled: !this.app.bench }, "Call ", h("code", this.style.tool))),
		);
	}

	#summary() {
		return h("p.summary", { key: "summary" },
			h("span", h("code", this.style.tool), ` ${this.choice.place}${this.choice.legacy ? ", legacy" : ""}`),
			h("button", {
				type: "button", class: "link",
				onclick: () => {
					this.current = null;
					this.startOver();
					this.app.draw();
				},
			}, "Start over"),
		);
	}

	#middle() {
		if (this.phase === "asked") return [this.#form(), this.stage.token && !this.choice.legacy && this.#inHand()];
		if (this.phase === "ended" || (this.phase === "lost")) return this.#result();
		return h("p.lesson", { key: "with" }, "The request is with the server.");
	}

	#form() {
		const { question, choice, bench } = this;
		const fields = fieldsOf(question.requestedSchema);
		const send = (e) => {
			e.preventDefault();
			this.answer?.({ action: "accept", content: contentOf(e.target, fields) });
		};
		return h(
			"form",
			{ key: `form-${this.stage.story.requests}-${this.stage.story.items.length}`, class: "question", onsubmit: send, "aria-label": "The question" },
			fields ? inputsFor(fields, question.message) : h("fieldset", h("legend", question.message), h("pre", JSON.stringify(question.requestedSchema, null, 2))),
			h("p.about", about(question.key, fields, choice.legacy)),
			!choice.legacy &&
				(bench.killed.size > 0
					? h("p.to", "Answer to ", h("b", `instance ${this.to.toUpperCase()}`), ", the one that is left")
					: h("fieldset.to.segments",
							h("legend", "Answer to"),
							h("div", ["a", "b"].map((i) =>
								h("label", h("input", { type: "radio", name: "to", value: i, checked: this.to === i, onchange: () => { this.to = i; this.app.draw(); } }), h("span", `instance ${i.toUpperCase()}`)),
							)),
						)),
			h("p.buttons",
				fields && h("button.primary", "Answer"),
				h("button", { type: "button", onclick: () => this.answer?.({ action: "decline" }) }, "Decline"),
				h("button", { type: "button", onclick: () => this.answer?.({ action: "cancel" }) }, "Dismiss"),
			),
		);
	}

	#inHand() {
		const { stage } = this;
		return holdsState(stage, {
			changed: this.changed,
			onopen: async () => {
				stage.token = stage.story.states.at(-1);
				stage.showTab("state");
				await stage.open(this.bench);
			},
			onchange: () => {
				this.changed = !this.changed;
				stage.token = this.changed ? changeOneByte(stage.story.states.at(-1)) : stage.story.states.at(-1);
				stage.changedToken = this.changed ? stage.token : null;
				stage.opened = null;
				this.app.draw();
			},
		});
	}

	#result() {
		const { result } = this.stage.story;
		const kind = !result ? "The connection is gone" : result.error ? `Error ${String(result.error.code).replace("-", "−")}` : result.result.isError ? "An error result, which the model can read" : "The result";
		const text = !result ? "No result came." : result.error ? result.error.message : textOf(result.result).replace("Weather in ", "");
		const next = this.step !== null && this.done.has(this.step) ? words.tour[this.step + 1] : null;
		return h("div.result", { key: "result" },
			h("p", { class: `kind${!result || result.error || result.result.isError ? " refusal" : ""}` }, kind),
			h("h2", { tabindex: "-1" }, text),
			h("p.stacked",
				next && h("button", { type: "button", class: "primary", onclick: () => this.app.go(`tour-${this.step + 2}`) }, `Next: ${next.title[0].toLowerCase()}${next.title.slice(1)}`),
				this.step === 5 && this.done.has(5) && h("button", { type: "button", class: "primary", onclick: () => this.app.go("attack") }, "Next: now try to break it"),
				h("button", { type: "button", class: next || (this.step === 5 && this.done.has(5)) ? "" : "primary", onclick: () => this.call() }, "Call again"),
			),
			h("ul.next", this.#nextSteps().map(([title, text, act]) => h("li", h("button", { type: "button", onclick: act }, h("b", title), h("span", text))))),
		);
	}

	#nextSteps() {
		const { choice, app } = this;
		const leave = (change) => () => {
			this.step = null;
			this.choose(change);
		};
		return [
			choice.style !== "naive" && ["Put the audit above the question", "Style naive: the same tool, one line moved.", leave({ style: "naive" })],
			!choice.legacy && ["Send the last answer again", "As a network does, or a second click.", () => app.attack(this.style.name, "resend")],
			!choice.legacy && ["Call it as a legacy client", "One request, and the server waits.", leave({ legacy: true })],
			["Compare two styles", "What differs in the code, and on the wire.", () => app.go("compare")],
		].filter(Boolean);
	}
}
