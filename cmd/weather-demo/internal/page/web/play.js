// Play: a person makes one call, answers its questions, and may kill, open and
// change on the way.

import { lateSwitch, storeSwitch } from "./attack.js";
import { changeOneByte } from "./bench.js";
import { Call } from "./call.js";
import { ConnectionLost } from "./client.js";
import { button, h, radios } from "./dom.js";
import { envelope } from "./envelope.js";
import { about, contentOf, fieldsOf, inputsFor } from "./form.js";
import { Stage } from "./stage.js";
import { Story, textOf } from "./story.js";
import * as words from "./words.js";

const places = { Lisbon: "", Tokyo: "", Reykjavik: "", Springfield: "There are three, so you will be asked twice.", Atlantis: "There is none." };

// Where a call that waits for its user outlives a reload.
const KEPT = "call";
// After so many ms without a response the visitor may stop waiting.
const PATIENCE = 8000;

export class Play {
	constructor(app) {
		this.app = app;
		this.stage = new Stage((now) => app.draw(now));
		this.kept = JSON.parse(sessionStorage.getItem(KEPT));
		this.choice = { style: "native", place: "Lisbon", legacy: false, resumes: false, late: false, store: false };
		// Of the tour.
		this.step = 0;
		// Whether styles and eras have come up, which say nothing to who has not called.
		this.met = false;
		// Steps that were done.
		this.done = new Set();
		this.startOver();
	}

	get style() {
		const { style, resumes, late } = this.choice;
		return this.app.style(style === "coroutine" && resumes ? "resumable" : style, late);
	}

	startOver() {
		const { choice } = this;
		// The call.
		this.current = null;
		this.phase = "setup";
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
		this.choose({ place: "Lisbon", legacy: false, resumes: false, late: false, store: false, ...words.tour[step].preset }, step);
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
		this.#play(call, call.story.result.result);
	}

	#keep({ bench, story }) {
		if (!story.legacy) sessionStorage.setItem(KEPT, JSON.stringify({ bench: bench.kept, choice: this.choice, step: this.step, story: story.kept }));
	}

	// #wait is the time in which no response has come.
	#wait(call) {
		this.phase = "calling";
		this.slow = false;
		setTimeout(() => {
			this.slow = this.current === call && this.phase === "calling";
			this.app.draw();
		}, PATIENCE);
	}

	// #play makes a call, or goes on from its last result.
	async #play(call, last) {
		const { bench, story } = call;
		this.current = call;
		this.met = true;
		this.to = "a";
		this.#wait(call);
		this.stage.reset(story, bench, "The request is on its way.");
		if (last) this.stage.shown = story.items.length;
		call.show = async () => {
			if (this.current !== call) return;
			this.stage.caption = words.running(story);
			await this.stage.advance();
		};
		this.app.focus(".client-land");
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
					return [{ ...params, requestState: changeOneByte(params.requestState) }, { warning: "one byte of the state is changed", changed: true }];
				},
			});
			if (this.current !== call) return;
			this.phase = "ended";
			sessionStorage.removeItem(KEPT);
			this.stage.caption = words.ended(story);
			this.#reached(story);
		} catch (error) {
			if (this.current !== call) return;
			const waited = this.phase === "asked";
			this.phase = "lost";
			this.stage.caption = !(error instanceof ConnectionLost) ? error.message : words.lost(story, waited);
			if (story.facts.killed && story.legacy) this.stage.caption = words.cutOff(story.facts.killed);
			else {
				story.cut();
				await this.stage.advance();
			}
		}
		this.app.focus(".result h2");
	}

	// #unanswered returns when the visitor sends the request again whose response was lost.
	async #unanswered(call) {
		if (this.current !== call) return new Promise(() => {});
		const { story } = call;
		this.phase = "unanswered";
		if (story.items.at(-1).kind !== "rule") story.cut();
		await this.stage.advance();
		this.stage.caption = words.unanswered;
		this.app.focus(".result h2");
		return new Promise((resolve) => {
			this.sendAgain = () => {
				story.facts.resent = true;
				this.to = call.bench.killed.has(this.to) ? other(this.to) : this.to;
				this.#wait(call);
				this.app.focus(".client-land");
				resolve();
			};
		});
	}

	#ask(call, question) {
		// The visitor has moved on.
		if (this.current !== call) return new Promise(() => {});
		const { story, bench } = call;
		this.phase = "asked";
		this.question = question;
		this.changed = false;
		this.lose = false;
		this.to = bench.killed.has(story.facts.asker) ? other(story.facts.asker) : story.facts.asker;
		this.#keep(call);
		this.stage.caption = words.asked(story);
		const asked = performance.now();
		this.app.focus("[data-first]");
		return new Promise((resolve, reject) => {
			this.giveUp = reject;
			this.answer = (action, content) => {
				if (this.phase !== "asked") return;
				story.items.at(-1).thought = Math.round((performance.now() - asked) / 1000);
				this.#wait(call);
				this.stage.caption = "Your answer is on its way.";
				this.app.focus(".client-land");
				resolve({ action, content });
			};
		});
	}

	async #kill(instance) {
		const { bench, story } = this.current;
		await bench.revive(); // the other one, if it was killed before
		await bench.kill(instance);
		story.kill(instance);
		this.to = other(instance);
		this.#keep(this.current);
		this.stage.caption = words.killed(story, instance);
		this.app.focus("[data-first]");
	}

	// A question stays open while the connection is lost: all of the call is with the
	// client. Only a legacy call ends with its connection.
	get adrift() {
		return this.phase === "asked" && !this.choice.legacy;
	}

	lost() {
		this.stage.lost = true;
		if (this.adrift) this.stage.caption = words.adrift;
	}

	back(kept) {
		const { stage } = this;
		if (!stage.lost) return;
		stage.lost = false;
		if (this.adrift && kept) stage.caption = words.joined;
		else if (this.adrift) this.giveUp(new ConnectionLost(404));
	}

	// #reached marks the step of the tour as done when its point was made.
	#reached({ facts }) {
		const { goal } = words.tour[this.step] ?? {};
		if (!goal || facts[goal]) this.done.add(this.step);
		else this.stage.caption += ` ${words.missed[goal]} this time. Call again, and try it.`;
	}

	view(width) {
		const { phase, stage } = this;
		const { facts } = stage.story;
		const killable = phase === "asked" && this.app.bench && !this.current.bench.killed.has(facts.asker) ? facts.asker : null;
		const { goal, todo } = words.tour[this.step] ?? {};
		const left = ["asked", "unanswered"].includes(phase) && !facts[goal] && todo;
		return [
			h("section.client-land", { key: "client", tabindex: -1, "aria-label": "Your client" }, h("p.land-title", "Your client"), this.#phases[phase]()),
			stage.wire(width, { killable, kill: (i) => this.#kill(i), todo: left }),
			stage.server(),
		];
	}

	// What the client shows in each phase of a call.
	#phases = {
		setup: () => this.#setup(),
		calling: () => [this.#summary(), this.#calling()],
		asked: () => [this.#summary(), this.#form()],
		unanswered: () => [this.#summary(), this.#result()],
		lost: () => [this.#summary(), this.#result()],
		ended: () => [this.#summary(), this.#result()],
	};

	#calling() {
		return [h("p.lesson", { key: "with" }, "The request is with the server."),
			this.slow && [h("p.lesson", { key: "slow" }, "No response has come. It may still come, or be lost."), button("Stop waiting", () => this.current.abandon(), { key: "stop" })]];
	}

	#setup() {
		const { choice } = this;
		const tile = (s) => [s.name, h("code", s.name)];
		const send = (e) => {
			e.preventDefault();
			this.call();
		};
		return h("form.setup", { key: "setup", onsubmit: send },
			radios("pills", "Weather in", "place", Object.keys(places).map((p) => [p, p]), choice.place, (place) => this.choose({ place })),
			places[choice.place] && h("p.lesson", places[choice.place]),
			h("p.primary-bar", h("button.primary", { disabled: !this.app.bench }, "Call ", h("code", this.style.tool))),
			h("details", { open: this.met }, h("summary", "Other ways to write it, and a legacy client"), h("fieldset.styles", h("legend", "The tool is written in style"),
				words.groups.map(([group, title]) => radios(`tiles.of-${group}`, title, "style", this.app.styles.filter((s) => s.group === group && s.name !== "resumable" && !s.late).map(tile), choice.style, (style) => this.choose({ style }))),
				h("p.lesson", this.style.lesson),
				choice.style === "coroutine" && h("label.switch", h("input", { type: "checkbox", checked: choice.resumes, onchange: (e) => this.choose({ resumes: e.target.checked }) }), "and replay if the handler is gone"),
				this.app.style(choice.style, true).late && lateSwitch(choice.late, (late) => this.choose({ late }))),
			storeSwitch(choice.store, (store) => this.choose({ store })),
			radios("segments", "The client speaks", "era", [["modern", "2026-07-28"], ["legacy", "legacy, 2025-11-25"]], choice.legacy ? "legacy" : "modern", (era) => this.choose({ legacy: era === "legacy" }))));
	}

	#summary() {
		const again = () => {
			this.startOver();
			this.app.draw();
		};
		return h("p.summary", { key: "summary" }, h("span", h("code", this.style.tool), ` ${this.choice.place}${this.choice.legacy ? ", legacy" : ""}`), button("Start over", again, { class: "link" }));
	}

	#form() {
		const { question, choice, current, app } = this;
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
			h("form.question", { key: `asked${current.story.items.length}`, onsubmit: send, "aria-label": "The question" },
				fields ? inputsFor(fields, question.message) : h("fieldset", h("legend", question.message), h("pre", JSON.stringify(question.requestedSchema, null, 2))),
				h("p.about", about(question.key, fields, choice.legacy)),
				!choice.legacy && (!app.bench ? h("p.to.refusal", "The connection is lost. Answer when it is back.") : current.bench.killed.size
					? h("p.to", "Answer to ", h("b", `instance ${this.to.toUpperCase()}`), ", the one that is left")
					: radios("to.segments", "Answer to", "to", [["a", "instance A"], ["b", "instance B"]], this.to, to)),
				!choice.legacy && h("label.switch", { key: "lose" }, h("input", { type: "checkbox", name: "lose", checked: this.lose, onchange: (e) => (this.lose = e.target.checked) }), "lose the response"),
				h("p.buttons", fields && h("button.primary", off, "Answer"), button("Decline", () => this.answer("decline"), off), button("Dismiss", () => this.answer("cancel"), off))),
			!choice.legacy && this.#inHand(),
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
		return h("div.in-hand", { key: "in-hand" }, envelope(84, { torn: changed }),
			h("div", h("b", changed ? "You changed one byte" : "You hold the sealed state"), h("p", changed ? "Send it, and see." : `${token.length} bytes that you cannot read.`),
				h("p.links", button("Open", open, { class: "link seal" }), button(changed ? "Change it back" : "Change one byte", change, { class: "link refusal" }))));
	}

	#result() {
		const { result, error } = (this.phase === "ended" && this.stage.story.result) || {};
		const { app, choice } = this;
		const bad = !result || result.isError;
		const kind = error ? `Error ${String(error.code).replace("-", "−")}` : !result ? (this.phase === "unanswered" ? "No response" : "The connection is gone") : bad ? "An error result, which the model can read" : "The result";
		const to = this.step < 0 ? words.tour.findIndex((t, i) => !this.done.has(i)) : this.step + 1;
		const next = this.done.has(this.step) && (words.tour[to] ?? { title: "Now try to break it", hash: "attack" });
		const again = this.phase === "unanswered";
		const leave = (change) => () => this.choose(change);
		const more = [
			choice.style !== "naive" && ["Put the charge above the question", "Style naive: the same tool, one line moved.", leave({ style: "naive" })],
			!choice.legacy && ["Send the last answer again", "As a network does, or a second click.", () => app.attack(this.style, "resend")],
			!choice.legacy && ["Call it as a legacy client", "One request, and the server waits.", leave({ legacy: true })],
			["Compare two styles", "What differs in the code, and on the wire.", () => app.go("compare")],
		].filter(Boolean);
		return h("div.result", { key: "result" },
			h("p.kind", { class: bad && "refusal" }, kind),
			h("h2", { tabindex: -1 }, error?.message ?? (result ? textOf(result).replace("Weather in ", "") : "No result came.")),
			h("p.stacked", again && button("Send the same request again", () => this.sendAgain(), { class: "primary", disabled: !app.bench }), next && button(`Next: ${next.title[0].toLowerCase()}${next.title.slice(1)}`, () => app.go(next.hash ?? `tour-${to + 1}`), { class: "primary" }),
				button("Call again", () => this.call(), { class: next || again ? "" : "primary", disabled: !app.bench })),
			next && !words.tour[to] && takeHome(),
			h("ul.next", more.map(([title, text, act]) => h("li", button([h("b", title), h("span", text)], act)))));
	}
}

const other = (instance) => (instance === "a" ? "b" : "a");

// takeHome ends the tour.
const takeHome = () => h("section.home", h("h3", "What to take home"), h("ul", words.home.map((says) => h("li", says))),
	h("p.links", [["attack", "Attack a call"], ["compare", "Compare two styles"], ["matrix", "Every style"]].map(([hash, title]) => h("a.link", { href: `#${hash}` }, title))));
