// A call that is recorded as a story, whoever decides its rounds: the person at
// the form, an attack, or a script.

import { ConnectionLost, ProtocolError } from "./client.js";
import { Story } from "./story.js";

/** @typedef {import("./story.js").Style} Style */

export class Call {
	/** @type {import("./bench.js").Bench} */
	bench;
	/** @type {Style} */
	style;
	/** @type {import("./story.js").Era} */
	era;
	/** @type {{ store: boolean, short: boolean, tasks: boolean }} */
	settings;
	/** @type {{ location: string }} */
	args;
	/** @type {Story} */
	story;
	/** @type {() => void} */
	abandon;

	/**
	 * @param {import("./bench.js").Bench} bench
	 * @param {{ style: Style, place: string, era?: import("./story.js").Era, store?: boolean, short?: boolean }} call
	 */
	constructor(bench, { style, place, era = "modern", store = false, short = false }) {
		Object.assign(this, {
			bench,
			style,
			era,
			settings: { store, short, tasks: era === "task" },
			args: { location: place },
			story: new Story({ style, place, era, store }),
		});
		// With a store, equal requests of one user are one call while it waits, unless each call
		// has a key of its own.
		this.key = store && { _meta: { idempotencyKey: crypto.randomUUID() } };
		// Called when the story has grown.
		this.show = async () => {};
	}

	// send makes one request of a modern call, and returns its response. What is
	// special about it is noted in the story; user is who sends it.
	/**
	 * @param {string} instance
	 * @param {any} params
	 * @param {{ user?: string, other?: boolean, next?: boolean, method?: string, warning?: string, changed?: boolean, lose?: boolean }} [special]
	 */
	async send(instance, params, { user, other, next, method, ...note } = {}) {
		const [response] = await this.#sendTo([instance], params, { user, other, next }, note, method);
		return response;
	}

	// sendBoth makes the same request of both instances at once.
	sendBoth(params) {
		return this.#sendTo(["a", "b"], params);
	}

	/** @returns {Promise<{ result?: any, error?: Error }[]>} */
	async #sendTo(instances, params, special, note, method = "tools/call") {
		const { story } = this;
		const drawn = story.items.length;
		const keyed = params.requestState ? params : { ...params, ...this.key };
		const responses = await this.bench.inTurn(async () => {
			const clients = [];
			for (const i of instances) clients.push(await this.bench.client(i, { ...this.settings, ...special, watch: story.watcher(i, note) }));
			const all = await Promise.all(clients.map((client) => settle(client.request(method, keyed))));
			if (note?.lose) story.lose();
			if (method === "tasks/get" && all[0].result?.status === "working") story.inbox = []; // a poll in vain is not drawn
			await this.#take();
			return all;
		});
		if (story.items.length > drawn) await this.show();
		if (note?.lose) throw new ConnectionLost(0);
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
	// If a response is lost, lost waits until the same request is to be sent again.
	/**
	 * @param {(question: any) => Promise<{ action: string, content?: any }>} ask
	 * @param {{ instance?: () => string, change?: (params: any) => any[], lost?: (error: Error) => Promise<void>, last?: any }} [how]
	 */
	async play(ask, { instance = () => "a", change = (params) => [params], lost, last } = {}) {
		const { bench, settings, era, story, style, args } = this;
		await bench.inTurn(() => bench.eventsOf(null)); // what an earlier call left behind
		if (era !== "legacy") {
			const client = await bench.client(instance(), settings);
			this.abandon = () => bench.abandon();
			return settle(
				client.callTool(
					style.tool,
					args,
					ask,
					async (original, method) => {
						for (;;) {
							const to = instance();
							try {
								const [params, note] = change(original);
								const { result, error } = await this.send(to, params, { ...note, method });
								if (error) throw error;
								return result;
							} catch (error) {
								if (original.taskId && error instanceof ConnectionLost && instance() !== to) continue; // any instance can be asked for a task
								if (!lost || !(error instanceof ConnectionLost)) throw error;
								await lost(error);
								await bench.inTurn(() => this.#take()); // what the server did meanwhile
							}
						}
					},
					last,
				),
			);
		}
		const client = await bench.client(instance(), { ...settings, legacy: true, watch: story.watcher(instance()) });
		this.abandon = () => client.abandon();
		const grow = async () => {
			await this.#take();
			await this.show();
		};
		const response = await settle(
			client.callTool(style.tool, args, async (question) => {
				try {
					await grow();
					return await ask(question);
				} catch {
					// The call ends with its connection.
					client.close();
					return { action: "cancel" };
				}
			}),
		);
		await grow();
		client.close();
		return response;
	}

	async #take() {
		await this.story.take(await this.bench.eventsOf(this.story));
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
export const scripted =
	(answers) =>
	async ({ key }) => ({ action: "accept", content: { [key]: answers[key] } });

export const usual = { place: "Springfield, Illinois", units: "metric" };
