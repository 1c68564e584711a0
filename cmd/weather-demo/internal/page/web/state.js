// What a message holds: the sealed state in its own tab, an envelope and the letter
// that only a server with the key can take out of it; and the message itself.

import { readHeader } from "./bench.js";
import { button, circle, h, path, quiet, rect, text } from "./dom.js";

// stateView shows a token. opened is what the server found in it, or null.
export function stateView({ token, opened, story, changed }, actions) {
	if (story.legacy)
		return h("p.empty", "There is no sealed state: a legacy client is asked while its one request stays open, and the server keeps what it has to know.");
	if (story.task) return h("p.empty", "Your client has no sealed state: the server keeps that of the task. The client has the task's id, which is sealed too.");
	if (!token) return h("p.empty", "There is no sealed state yet. Press Call: the first question comes with one.");
	const header = readHeader(token);
	const opens = `pens until ${header.expires.toLocaleTimeString("en-GB")}, with key `;
	const { payload, refused } = opened ?? {};
	return h(
		"div.state",
		payload ? letter(payload, header.key, story, opens) : sealed(token, header.key, changed, opens),
		h(
			"p.about",
			payload
				? [h("b", "Only a server with the key reads this. "), "This demo opens it for you. A client cannot, and must not try."]
				: refused
					? [h("b.refused", `The server cannot open it: ${refused}. `), "A client is never told this reason; it is for the server's log."]
					: [
							h("b", `${token.length} bytes of text, encrypted. `),
							"This is all that your client has. It can keep it, send it back, or lose it. It cannot read or change it.",
						],
		),
		h(
			"p.buttons",
			opened ? button("Close it", actions.close) : button("Open it, as the server does", actions.open),
			payload && button("Show it on the wire", actions.wire),
		),
	);
}

const sealed = (token, key, changed, opens) =>
	h(
		"svg.big.env",
		{ key: "sealed", viewBox: "-1 -1 432 242", role: "img", "aria-label": `A sealed envelope. It o${opens}${key}.` },
		h("clipPath", { id: "flap-clip" }, path("clip", "M0 0H430L215 142Z")),
		rect("paper", 0, 0, 430, 240, 6),
		path("fold", "M2 238 170 110M428 238 260 110"),
		path("flap", "M0 2 215 142 430 2"),
		h(
			"g",
			{ "clip-path": "url(#flap-clip)" },
			[0, 1, 2, 3, 4].map((i) => text("print", 22, 20 + i * 15, token.slice(i * 54, i * 54 + 54))),
		),
		circle("wax", 215, 130, 33),
		circle("wax-ring", 215, 130, 26),
		text("wax-key", 215, 134, key.slice(0, 6)),
		text("address", 215, 218, `O${opens}${key}.`),
		changed && path("tear", "M250 0 214 60 262 104 206 150 248 190 218 240"),
	);

function letter(payload, key, { style, place }, opens) {
	const short = (id, n = 8) => h("code", id.slice(0, n));
	const plain = (value) => (Object(value) === value ? Object.values(value).join(", ") : value);
	const done = (payload.done ?? []).map(
		({ kind = "answer", key, value }) =>
			({
				answer: ["Answered", `${key} = ${plain(value)}`],
				known: ["Known", `${key} = ${plain(value)}`],
				skipped: ["Skipped", key],
			})[kind] ?? ["Done", h("b.effect", key), ", so no request with this state runs it again"],
	);
	const rows = [
		["Call", short(payload.call.toLowerCase()), `, round ${payload.round}`],
		...done,
		payload.steps && ["Step list", short(payload.steps), ", so that a changed list is noticed"],
		payload.frame && ["Handler", "held under ", short(payload.frame, 6), "…"],
		...(payload.pending ?? []).map((p) => ["Waiting for", `${p.key}: ${choices(p.form)}`]),
	];
	return h(
		"div.opened",
		{ key: "letter" },
		h(
			"dl.letter",
			rows.filter(Boolean).map(([term, ...words]) => h("div", h("dt", term), h("dd", words))),
		),
		h(
			"p.front",
			"For ",
			h("code", `${style.tool} ${JSON.stringify({ location: place })}`),
			`, and no other tool, arguments or caller. O${opens}`,
			h("code", key),
			".",
		),
	);
}

function choices(schema) {
	const [property] = Object.values(schema?.properties ?? {});
	const values = property?.enum ?? property?.oneOf?.map((c) => c.const);
	return values?.join(", ").replaceAll("Springfield, ", "") ?? property?.type ?? "an answer";
}

// inHand is the state as the client has it.
export const inHand = (token, changed, open, change) =>
	h(
		"div.in-hand",
		{ key: "in-hand" },
		envelope(84, { torn: changed }),
		h(
			"div",
			h("b", changed ? "You changed one byte" : "You hold the sealed state"),
			h("p", changed ? "Send it, and see." : `${token.length} bytes that you cannot read.`),
			h("p.links", button("Open", open, { class: "link seal" }), button(changed ? "Change it back" : "Change one byte", change, { class: "link refusal" })),
		),
	);

// The sealed state, drawn as an envelope of 64 by 42.
/** @param {{ torn?: boolean, draining?: boolean }} [options] */
export const envelopeParts = ({ torn, draining } = {}) => [
	rect("paper", 0, 0, 64, 42, 2),
	path("fold", "M1 41 25 21M63 41 39 21"),
	path("flap", "M0 1 32 25 64 1"),
	circle("wax", 32, 24, 7),
	circle("wax-ring", 32, 24, 4),
	draining && circle("drain", 32, 24, 10, { pathLength: 1 }),
	torn && path("tear", "M36 0 29 11 37 18 28 27 35 33 30 42"),
];

export const envelope = (width, options) => h("svg.env", { viewBox: "-2 -2 68 46", width, height: Math.round(width * 0.68), ...quiet }, envelopeParts(options));

// messageView is a message as it was on the wire.
export function messageView(item) {
	if (!item) return h("p.empty", "Press Call, then choose a message in the diagram.");
	return (item.messages ?? [item]).map(({ sent, instance, text, message }) => {
		const server = `instance ${instance.toUpperCase()}`;
		return h(
			"section.message",
			h("p", h("b", sent ? `client → ${server}` : `${server} → client`), `, ${new TextEncoder().encode(text).length} bytes`),
			h("pre", { tabindex: "0", "aria-label": "The message as JSON" }, pretty(message)),
		);
	});
}

// pretty lays a message out two spaces deep. A token is cut: nobody can read it.
function pretty(message) {
	const tokens = [];
	const cut = (key, value) => (["requestState", "taskId"].includes(key) ? `${value.slice(0, 24)}…` + (tokens.push(value), "") : value);
	return JSON.stringify(message, cut, 2)
		.split(/("(?:[^"\\]|\\.)*"(?=:)|"[\w-]{24}…")/)
		.map((piece, i) => {
			if (i % 2 === 0) return piece;
			return piece.endsWith('…"') ? [h("mark", piece), ` sealed, ${tokens.shift().length} bytes`] : h("b", piece);
		});
}
