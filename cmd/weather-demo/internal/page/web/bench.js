// The server's side as the page sees it: two instances that share a key, the
// clients that are connected to them, and the endpoints for teaching, which no
// other server has.

import { Client } from "./client.js";

const base = new URL("../", import.meta.url); // the page may live behind any path

async function post(path, body = {}) {
	const response = await fetch(new URL(path, base), {
		method: "POST",
		headers: { "Content-Type": "application/json" },
		body: JSON.stringify(body),
	});
	if (!response.ok) throw new Error(await response.text());
	return response.status === 204 ? null : response.json();
}

async function get(path) {
	const response = await fetch(new URL(path, base));
	if (!response.ok) throw new Error(await response.text());
	return response.json();
}

export const source = () => get("demo/source");
export const quadrant = () => get("demo/quadrant");

export class Bench {
	#clients = new Map(); // by instance and settings
	#seen = 0; // the last event that was fetched
	#turn = Promise.resolve();

	static async open() {
		const bench = new Bench();
		Object.assign(bench, await post("demo")); // id, instances, store, life_ms, places
		bench.killed = new Set();
		return bench;
	}

	// client returns a connected client, and keeps modern ones for the next call.
	async client(instance, { store = false, short = false, user = "", legacy = false, watch = null } = {}) {
		const url = new URL(`demo/${this.id}/${instance}/ws`, base);
		url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
		if (store) url.searchParams.set("store", "on");
		if (short) url.searchParams.set("life", "short");
		if (user) url.searchParams.set("user", user);
		if (legacy) return Client.connect(url, { legacy, watch });
		let client = this.#clients.get(url.href);
		if (!client) {
			client = await Client.connect(url);
			this.#clients.set(url.href, client);
			client.closed.then(() => this.#clients.delete(url.href));
		}
		if (watch) client.watch = watch;
		return client;
	}

	// events returns what happened since it was called last. A round's events are
	// there before its response is sent.
	async events() {
		const events = await get(`demo/${this.id}/events?after=${this.#seen}`);
		if (events.length > 0) this.#seen = events.at(-1).seq;
		return events;
	}

	open(state, tool, args) {
		return post(`demo/${this.id}/open`, { state, tool, arguments: args });
	}

	async kill(instance) {
		this.killed.add(instance);
		await post(`demo/${this.id}/${instance}/kill`);
	}

	// revive starts again whatever was killed.
	async revive() {
		for (const instance of this.killed) await post(`demo/${this.id}/${instance}/start`);
		this.killed.clear();
	}

	// inTurn runs f when every earlier one is done: one request at a time, so that
	// the events in between are its own.
	inTurn(f) {
		const mine = this.#turn.then(f);
		this.#turn = mine.catch(() => {});
		return mine;
	}
}

// Header is what anybody can read off a token: its first 21 bytes are not
// encrypted (statecodec/SPEC.md, section 1).
export function readHeader(token) {
	const bytes = Uint8Array.from(atob(token.slice(0, 28).replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
	const number = (from, to) => bytes.slice(from, to).reduce((n, b) => n * 256 + b, 0);
	return {
		key: [...bytes.slice(2, 6)].map((b) => b.toString(16).padStart(2, "0")).join(""),
		issued: new Date(number(9, 15)),
		expires: new Date(number(15, 21)),
	};
}

// changeOneByte replaces one character behind the header, where the payload is.
export function changeOneByte(token) {
	const at = 40;
	return token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
}
