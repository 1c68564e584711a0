// The server's side as the page sees it: two instances that share a key, the
// clients that are connected to them, and the endpoints for teaching, which no
// other server has.

import { Client, ConnectionLost } from "./client.js";

// The page may live behind any path.
const base = new URL("../", import.meta.url);

async function ask(path, options) {
	const response = await fetch(new URL(path, base), { signal: AbortSignal.timeout(30_000), ...options }).catch(() => null);
	const text = await response?.text().catch(() => null);
	const status = response?.status ?? 0;
	// A server that was started again does not know this bench, and a proxy in front
	// of none answers by itself.
	if (typeof text !== "string" || [404, 502, 504].includes(status)) throw new ConnectionLost(status);
	if (!response.ok) throw new Error(text);
	return text && JSON.parse(text);
}

const post = (path, body = {}) => ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const source = () => ask("demo/source");
export const quadrant = () => ask("demo/quadrant");
export const sideBySide = (left, right) => ask(`demo/compare?left=${left}&right=${right}`);
// Which lines a run passed.
export const wayOf = (run) => post("demo/way", run);

export class Bench {
	/** @type {string} */
	id;
	/** @type {string[]} */
	instances;
	/** @type {number} */
	life_ms;
	/** @type {Set<string>} */
	killed;

	// Modern ones, by address.
	#clients = new Map();
	// The last event that was fetched.
	#seen = 0;
	#turn = Promise.resolve();
	// The story that each call belongs to, by the call's id.
	#stories = new Map();

	// open gives this visitor a bench: the one before a reload, if the server still has it.
	static async open(kept) {
		const bench = Object.assign(new Bench(), kept, { killed: new Set(kept?.killed) });
		bench.#seen = kept?.seen ?? 0;
		if (kept && (await bench.known())) return bench;
		// id, instances, life_ms
		return Object.assign(new Bench(), await post("demo"), { killed: new Set() });
	}

	get kept() {
		const { id, instances, life_ms, killed } = this;
		return { id, instances, life_ms, killed: [...killed], seen: this.#seen };
	}

	// client returns a connected client, and keeps modern ones for the next call.
	/**
	 * @param {string} instance
	 * @param {{ store?: boolean, short?: boolean, user?: string, other?: boolean, next?: boolean, legacy?: boolean, tasks?: boolean, watch?: (m: any) => void }} [options]
	 */
	async client(instance, { store, short, user, other, next, legacy, tasks, watch } = {}) {
		if (this.killed.has(instance)) throw new ConnectionLost(0);
		const url = new URL(`demo/${this.id}/${instance}/ws`, base);
		url.protocol = url.protocol.replace("http", "ws");
		if (store) url.searchParams.set("store", "on");
		if (short) url.searchParams.set("life", "short");
		if (user) url.searchParams.set("user", user);
		if (other) url.searchParams.set("key", "other");
		if (next) url.searchParams.set("version", "next");
		if (legacy) return Client.connect(url, { legacy, watch });
		let client = this.#clients.get(url.href);
		if (!client) {
			client = await Client.connect(url);
			// A server ends a connection on which no request is made.
			await client.request("server/discover", {});
			this.#clients.set(url.href, client);
			client.closed.then(() => this.#clients.delete(url.href));
		}
		if (watch) Object.assign(client, { watch, tasks: Boolean(tasks) });
		return client;
	}

	// events returns what happened since it was called last. A round's events are
	// there before its response is sent.
	async events() {
		const events = await ask(`demo/${this.id}/events?after=${this.#seen}`);
		this.#seen = events.at(-1)?.seq ?? this.#seen;
		return events;
	}

	// eventsOf are those that belong to a story: no call tells what another one did.
	async eventsOf(story) {
		const events = await this.events();
		for (const { call } of events) if (call && !this.#stories.has(call)) this.#stories.set(call, story);
		return events.filter(({ call }) => !call || this.#stories.get(call) === story);
	}

	// known reports whether the server still has this bench.
	async known() {
		try {
			await ask(`demo/${this.id}/events?after=${Number.MAX_SAFE_INTEGER}`);
			return true;
		} catch (error) {
			if (error.code !== 404) throw error;
			return false;
		}
	}

	// abandon waits no longer for any response.
	abandon() {
		for (const client of this.#clients.values()) client.abandon();
	}

	open(state, tool, args) {
		return post(`demo/${this.id}/open`, { state, tool, arguments: args });
	}

	async kill(instance) {
		this.killed.add(instance);
		// A connection that is lost is told by itself.
		await post(`demo/${this.id}/${instance}/kill`).catch(() => {});
	}

	// revive starts again what was killed.
	async revive() {
		for (const instance of this.killed) await post(`demo/${this.id}/${instance}/start`);
		this.killed.clear();
	}

	// inTurn runs f when every earlier one is done: one request at a time, so that
	// the events in between are its own.
	/**
	 * @template T
	 * @param {() => Promise<T>} f
	 * @returns {Promise<T>}
	 */
	inTurn(f) {
		const mine = this.#turn.then(f);
		this.#turn = mine.then(
			() => {},
			() => {},
		);
		return mine;
	}
}

// readHeader reads what anybody can read off a token: its first 21 bytes are not
// encrypted (statecodec/SPEC.md, section 1).
export function readHeader(token) {
	const bytes = [...atob(token.slice(0, 28).replaceAll("-", "+").replaceAll("_", "/"))].map((c) => c.charCodeAt(0));
	const time = (from) => new Date(bytes.slice(from, from + 6).reduce((n, b) => n * 256 + b, 0));
	return {
		key: bytes
			.slice(2, 6)
			.map((b) => b.toString(16).padStart(2, "0"))
			.join(""),
		expires: time(15),
	};
}

// changeOneByte replaces one character behind the header.
export const changeOneByte = (token) => token.slice(0, 40) + (token[40] === "A" ? "B" : "A") + token.slice(41);
