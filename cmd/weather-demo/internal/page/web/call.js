// A call that is recorded as a story, whoever decides its rounds: the person at
// the form, an attack, or a script.

import { ProtocolError } from "./client.js";
import { Story } from "./story.js";

export class Call {
	constructor(bench, { style, place, legacy = false, store = false, short = false }) {
		Object.assign(this, { bench, style, legacy, settings: { store, short }, args: { location: place }, story: new Story({ style, place, legacy }) });
		// Called when the story has grown.
		this.show = async () => {};
	}

	// send makes one request of a modern call, and returns its response. What is
	// special about it is noted in the story; user is who sends it.
	async send(instance, params, { user, ...note } = {}) {
		const [response] = await this.#sendTo([instance], params, user, note);
		return response;
	}

	// sendBoth makes the same request of both instances at once.
	sendBoth(params) {
		return this.#sendTo(["a", "b"], params);
	}

	async #sendTo(instances, params, user, note) {
		const responses = await this.bench.inTurn(async () => {
			const clients = [];
			for (const i of instances) clients.push(await this.bench.client(i, { ...this.settings, user, watch: this.story.watcher(i, note) }));
			const all = await Promise.all(clients.map((client) => settle(client.round(params))));
			await this.#take();
			return all;
		});
		await this.show();
		return responses;
	}

	first() {
		return { name: this.style.tool, arguments: this.args };
	}

	// answering is the request of the round after a result.
	answering({ inputRequests, requestState }, answers) {
		const accept = (key) => [key, { action: "accept", content: { [key]: answers[key] ?? answers.units } }];
		return { ...this.first(), requestState, inputResponses: Object.fromEntries(Object.keys(inputRequests).map(accept)) };
	}

	// play makes the whole call. ask answers each question; instance names the
	// one that takes the next round, and change may change its request.
	async play(ask, { instance = () => "a", change = (params) => [params] } = {}) {
		const { bench, settings, legacy, story, style, args } = this;
		if (!legacy) {
			const client = await bench.client(instance(), settings);
			return settle(client.callTool(style.tool, args, ask, async (original) => {
				const { result, error } = await this.send(instance(), ...change(original));
				if (error) throw error;
				return result;
			}));
		}
		const client = await bench.client(instance(), { ...settings, legacy, watch: story.watcher(instance()) });
		const grow = async () => {
			await this.#take();
			await this.show();
		};
		const response = await settle(client.callTool(style.tool, args, async (question) => {
			try {
				await grow();
				return await ask(question);
			} catch {
				// The call ends with its connection.
				client.close();
				return { action: "cancel" };
			}
		}));
		await grow();
		client.close();
		return response;
	}

	async #take() {
		await this.story.take(await this.bench.events());
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
export const scripted = (answers) => async ({ key }) => ({ action: "accept", content: { [key]: answers[key] } });

export const usual = { place: "Springfield, Illinois", units: "metric" };
