// A client of the Model Context Protocol over WebSocket, in both eras, with all
// that a multi-round call needs. It depends on no other file.
//
//   const client = await Client.connect("ws://127.0.0.1:8080/ws");
//   const result = await client.callTool("weather_native", { location: "Lisbon" }, askUser);
//
// askUser gets a question, { key, message, requestedSchema, ... }, and returns
// or promises { action: "accept", content: { ... } }, { action: "decline" } or
// { action: "cancel" }.
//
// Since revision 2026-07-28 a server ends the request with its questions and a
// sealed state, and the client makes it again, with the answers and the state.
// Before, the server asked by a request of its own over the open connection. A client
// that takes tasks may get the id of one, and asks for it until it has ended.

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

const CLIENT_INFO = { name: "weather-demo page", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} } };

const MAX_ROUNDS = 10;

// ProtocolError is a JSON-RPC error: the request itself was refused. A tool
// that fails sends a result with isError instead.
export class ProtocolError extends Error {
	constructor({ code, message, data }) {
		super(message);
		this.code = code;
		this.data = data;
	}
}

// ConnectionLost ends every request that had no response yet. Whether the
// server acted on it is not known.
export class ConnectionLost extends Error {
	constructor(code) {
		super("the connection was lost");
		this.code = code;
	}
}

export class Client {
	#socket;
	#lastID = 0;
	#waiting = new Map(); // requests without a response, by id

	// watch is called with every message, { sent, message, text }, and may be
	// replaced at any time. ask answers what a legacy connection is asked.
	constructor(socket, { legacy = false, tasks = false, ask = null, watch = null } = {}) {
		this.#socket = socket;
		this.legacy = legacy;
		this.tasks = tasks;
		this.ask = ask;
		this.watch = watch;
		this.closed = new Promise((resolve) => {
			socket.addEventListener("close", (e) => {
				for (const { reject } of this.#waiting.values()) reject(new ConnectionLost(e.code));
				this.#waiting.clear();
				resolve(e.code);
			});
		});
		socket.addEventListener("message", (e) => this.#receive(e.data));
	}

	// A legacy client shakes hands; a modern one says with each request who it is.
	static async connect(url, options = {}) {
		const socket = new WebSocket(url, "mcp");
		const client = new Client(socket, options);
		await new Promise((resolve, reject) => {
			socket.addEventListener("open", resolve, { once: true });
			socket.addEventListener("close", (e) => reject(new ConnectionLost(e.code)), { once: true });
		});
		if (client.legacy) {
			await client.request("initialize", {
				protocolVersion: LEGACY,
				capabilities: CAPABILITIES,
				clientInfo: CLIENT_INFO,
			});
			client.#send({ jsonrpc: "2.0", method: "notifications/initialized", params: {} });
		}
		return client;
	}

	close() {
		this.#socket.close();
	}

	// abandon waits no longer for any response.
	abandon() {
		for (const { reject } of this.#waiting.values()) reject(new ConnectionLost(0));
		this.#waiting.clear();
		this.close();
	}

	// callTool makes a call, from its first request to its result. It throws a
	// ProtocolError where a request is refused.
	//
	// Each round goes through round, which is this client's unless another is
	// given: any instance of the server that has the key can take the next one.
	//
	// A call that was under way goes on from its last result.
	async callTool(name, args, ask, round = (params, method) => this.request(method, params), last = null) {
		this.ask = ask;
		let params = { name, arguments: args };
		for (let n = 0; n < MAX_ROUNDS; n++) {
			const result = (n === 0 && last) || (await round(params, "tools/call"));
			if (result.resultType === "task") return this.#follow(result, ask, round);
			if (!asksForInput(result)) return result;
			// Arguments and name stay as they were: the state is sealed for them. Of
			// the answers only this round's are sent, earlier ones are in the state.
			const answers = await this.#answer(result.inputRequests, ask);
			params = { name, arguments: args };
			if (answers) params.inputResponses = answers;
			if (result.requestState !== undefined) params.requestState = result.requestState;
		}
		throw new Error(`the server asked in ${MAX_ROUNDS} rounds`);
	}

	// #follow asks for a task, and answers its questions, until it has ended. Any instance
	// that shares its store can be asked.
	async #follow({ taskId, pollIntervalMs }, ask, round) {
		for (;;) {
			const { status, inputRequests, result, error } = await round({ taskId }, "tasks/get");
			if (status === "completed") return result;
			if (status === "input_required") await round({ taskId, inputResponses: await this.#answer(inputRequests, ask) }, "tasks/update");
			else if (status !== "working") throw new ProtocolError(error ?? { code: 0, message: `the task is ${status}` });
			else await new Promise((resolve) => setTimeout(resolve, pollIntervalMs));
		}
	}

	// request sends a request and waits for its response.
	request(method, params) {
		const id = ++this.#lastID;
		return new Promise((resolve, reject) => {
			if (this.#socket.readyState !== WebSocket.OPEN) {
				reject(new ConnectionLost(0));
				return;
			}
			this.#waiting.set(id, { resolve, reject });
			this.#send({ jsonrpc: "2.0", id, method, params: this.legacy ? params : { ...params, _meta: { ...metaOf(this.tasks), ...params._meta } } });
		});
	}

	// A result without questions only wants its state back.
	async #answer(questions, ask) {
		const responses = {};
		for (const [key, { method, params }] of Object.entries(questions ?? {})) {
			if (method === "elicitation/create") responses[key] = await ask({ key, ...params });
		}
		return Object.keys(responses).length > 0 ? responses : null;
	}

	#send(message) {
		const text = JSON.stringify(message);
		this.watch?.({ sent: true, message, text });
		this.#socket.send(text);
	}

	#receive(text) {
		const message = JSON.parse(text);
		this.watch?.({ sent: false, message, text });
		if (message.method !== undefined) {
			if (message.id !== undefined) this.#respond(message);
			return; // a notification needs no response
		}
		const waiting = this.#waiting.get(message.id);
		this.#waiting.delete(message.id);
		if (message.error) waiting?.reject(new ProtocolError(message.error));
		else waiting?.resolve(message.result);
	}

	// A server's request only comes to a legacy client.
	async #respond({ id, method, params }) {
		if (method === "ping") return this.#send({ jsonrpc: "2.0", id, result: {} });
		if (method !== "elicitation/create" || !this.ask) {
			return this.#send({ jsonrpc: "2.0", id, error: { code: -32601, message: `${method} is not supported` } });
		}
		const [key = method] = Object.keys(params.requestedSchema?.properties ?? {});
		const result = await this.ask({ key, ...params });
		if (this.#socket.readyState === WebSocket.OPEN) this.#send({ jsonrpc: "2.0", id, result });
	}
}

const metaOf = (tasks) => ({
	"io.modelcontextprotocol/protocolVersion": MODERN,
	"io.modelcontextprotocol/clientInfo": CLIENT_INFO,
	"io.modelcontextprotocol/clientCapabilities": tasks ? { ...CAPABILITIES, extensions: { "io.modelcontextprotocol/tasks": {} } } : CAPABILITIES,
});

// asksForInput tells a round that is not the last from a result.
export function asksForInput(result) {
	return result.resultType === "input_required";
}
