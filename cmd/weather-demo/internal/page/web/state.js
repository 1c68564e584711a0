// The sealed state in its own tab: an envelope, and the letter that only a
// server with the key can take out of it.

import { readHeader } from "./bench.js";
import { h } from "./dom.js";

const time = (date) => date.toLocaleTimeString("en-GB");

// stateView shows a token. opened is what the server found in it, or null.
export function stateView({ token, opened, story, legacy, changed }, actions) {
	if (legacy) {
		return h("p.empty", "There is no sealed state: a legacy client is asked while its one request stays open, and the server keeps what it has to know.");
	}
	if (!token) return h("p.empty", "There is no sealed state yet. Press Call: the first question comes with one.");
	const header = readHeader(token);
	return h("div.state",
		opened?.payload ? letter(opened.payload, header, story) : sealed(token, header, changed),
		opened?.payload
			? h("p.about", h("b", "Only a server with the key reads this. "), "This demo opens it for you. A client cannot, and must not try.")
			: h("p.about",
					opened?.refused
						? [h("b.refused", `The server cannot open it: ${opened.refused}. `), "A client is never told this reason; it is for the server's log."]
						: [h("b", `${token.length} bytes of text, encrypted. `), "This is all that your client has. It can keep it, send it back, or lose it. It cannot read or change it."],
				),
		h("p.buttons",
			opened
				? h("button", { type: "button", onclick: actions.close }, "Close it")
				: h("button", { type: "button", onclick: actions.open }, "Open it, as the server does"),
			opened?.payload && h("button", { type: "button", onclick: actions.wire }, "Show it on the wire"),
		),
	);
}

function sealed(token, header, changed) {
	const rows = [0, 1, 2, 3, 4].map((i) => token.slice(i * 54, i * 54 + 54));
	return h(
		"svg",
		{ key: "sealed", class: `big env${changed ? " torn" : ""}`, viewBox: "-1 -1 432 242", role: "img", "aria-label": `A sealed envelope. It opens until ${time(header.expires)}, with key ${header.key}.` },
		h("clipPath", { id: "flap-clip" }, h("path", { d: "M0 0H430L215 142Z" })),
		h("rect.paper", { width: 430, height: 240, rx: 6 }),
		h("path.fold", { d: "M2 238 170 110M428 238 260 110" }),
		h("path.flap", { d: "M0 2 215 142 430 2" }),
		h("g", { "clip-path": "url(#flap-clip)" }, rows.map((row, i) => h("text.print", { x: 22, y: 20 + i * 15 }, row))),
		h("circle.wax", { cx: 215, cy: 130, r: 33 }),
		h("circle.wax-ring", { cx: 215, cy: 130, r: 26 }),
		h("text.wax-key", { x: 215, y: 134 }, header.key.slice(0, 6)),
		h("text.address", { x: 215, y: 218 }, `Opens until ${time(header.expires)}, with key ${header.key}.`),
		changed && h("path.tear", { d: "M250 0 214 60 262 104 206 150 248 190 218 240" }),
	);
}

function letter(payload, header, { style, place }) {
	const rows = [["Call", [h("code", payload.call.slice(0, 8).toLowerCase()), `, round ${payload.round}`]]];
	const of = (kind) => (payload.done ?? []).filter((e) => e.kind === kind);
	const plain = (value) => (value === Object(value) ? Object.values(value).join(", ") : String(value));
	for (const e of of("answer")) rows.push(["Answered", `${e.key} = ${plain(e.value)}`]);
	for (const e of [...of("effect"), ...of("nested")]) rows.push(["Done", [h("b.effect", e.key), ", so it does not run again"]]);
	for (const e of of("known")) rows.push(["Known", `${e.key} = ${plain(e.value)}`]);
	for (const e of of("skipped")) rows.push(["Skipped", e.key]);
	if (payload.steps) rows.push(["Step list", [h("code", payload.steps.slice(0, 8)), ", so that a changed list is noticed"]]);
	if (payload.frame) rows.push(["Handler", ["held under ", h("code", `${payload.frame.slice(0, 6)}…`)]]);
	for (const p of payload.pending ?? []) rows.push(["Waiting for", `${p.key}: ${choices(p.schema)}`]);
	return h("div.opened", { key: "letter" },
		h("dl.letter", rows.map(([term, text]) => h("div", h("dt", term), h("dd", text)))),
		h("div.flap-up", { "aria-hidden": "true" }),
		h("p.front",
			"For ", h("code", `${style.tool} ${JSON.stringify({ location: place })}`), ", and no other tool, arguments or caller. ",
			`Opens until ${time(header.expires)}, with key `, h("code", header.key), ".",
		),
	);
}

function choices(schema) {
	const [property] = Object.values(schema?.properties ?? {});
	const values = property?.enum ?? property?.oneOf?.map((c) => c.const);
	return values ? values.map((v) => String(v).replace("Springfield, ", "")).join(", ") : property?.type ?? "an answer";
}
