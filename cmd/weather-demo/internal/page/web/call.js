// A call that is recorded as a story, whoever decides its rounds: the person at
// the form, an attack, or a script.

import { ProtocolError } from "./client.js";
import { Story } from "./story.js";

export class Call {
	constructor(bench, { style, place, legacy = false, store = false, short = false }) {
		this.bench = bench;
		this.style = style;
		this.settings = { store, short };
		this.args = { location: place };
		this.story = new Story({ style, place, legacy });
		this.legacy = legacy;
		this.show = async () => {}; // called when the story has grown
	}

	// send makes one request of a modern call, and returns its response.
	async send(instance, params, { user = "", ...note } = {}) {
		const response = await this.bench.inTurn(async () => {
			const client = await this.bench.client(instance, { ...this.settings, user, watch: this.story.watcher(instance, note) });
			const response = await settle(client.round(params));
			await this.#take();
			return response;
		});
		await this.show();
		return response;
	}

	// sendBoth makes the same request of both instances at once.
	async sendBoth(params) {
		const responses = await this.bench.inTurn(async () => {
			const clients = [];
			for (const instance of ["a", "b"]) {
				clients.push(await this.bench.client(instance, { ...this.settings, watch: this.story.watcher(instance) }));
			}
			const responses = await Promise.all(clients.map((client) => settle(client.round(params))));
			await this.#take();
			return responses;
		});
		await this.show();
		return responses;
	}

	first() {
		return { name: this.style.tool, arguments: this.args };
	}

	// answering is the request of the next round.
	answering(state, answers) {
		const inputResponses = {};
		for (const [key, value] of Object.entries(answers)) inputResponses[key] = { action: "accept", content: { [key]: value } };
		return { ...this.first(), requestState: state, inputResponses };
	}

	// play makes the whole call. ask answers each question; instance names the
	// one that takes the next round, and change may change its request.
	async play(ask, { instance = () => "a", change = (params) => [params, {}] } = {}) {
		if (this.legacy) return this.#playLegacy(ask, instance());
		const client = await this.bench.client(instance(), this.settings);
		return settle(
			client.callTool(this.style.tool, this.args, ask, async (original) => {
				const [params, note] = change(original);
				const { result, error } = await this.send(instance(), params, note);
				if (error) throw error;
				return result;
			}),
		);
	}

	async #playLegacy(ask, instance) {
		const client = await this.bench.client(instance, { ...this.settings, legacy: true, watch: this.story.watcher(instance) });
		this.client = client;
		const answer = async (question) => {
			await this.#take();
			await this.show();
			return ask(question);
		};
		const response = await settle(client.callTool(this.style.tool, this.args, answer));
		await this.#take();
		await this.show();
		client.close();
		return response;
	}

	async #take() {
		const events = await this.bench.events();
		this.story.take(events);
	}
}

// settle waits for a response, be it a result or a refusal.
async function settle(promise) {
	try {
		return { result: await promise };
	} catch (error) {
		if (error instanceof ProtocolError) return { error };
		throw error;
	}
}

// scripted is a user who takes these answers.
export function scripted(answers) {
	return async ({ key }) => ({ action: "accept", content: { [key]: answers[key] } });
}

export const usual = { place: "Springfield, Illinois", units: "metric" };
