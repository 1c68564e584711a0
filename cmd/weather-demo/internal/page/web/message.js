// A message as it was on the wire.

import { h } from "./dom.js";

export function messageView(item) {
	if (!item) return h("p.empty", "Press Call, then choose a message in the diagram.");
	const messages = item.messages ?? [item];
	return messages.map((m) =>
		h("section.message",
			h("p", h("b", m.sent ? `client → instance ${m.instance.toUpperCase()}` : `instance ${m.instance.toUpperCase()} → client`), `, ${new TextEncoder().encode(m.text).length} bytes`),
			h("pre", { tabindex: "0", "aria-label": "The message as JSON" }, json(m.message, "")),
		),
	);
}

// json lays a value out two spaces deep. What is short stays on one line, and a
// token is cut: nobody can read the rest.
function json(value, indent, key = "") {
	if (key === "requestState" && typeof value === "string") {
		return [h("mark", `"${value.slice(0, 24)}…"`), ` sealed, ${value.length} bytes`];
	}
	if (value === null || typeof value !== "object") return [JSON.stringify(value)];
	const flat = JSON.stringify(value);
	const entries = Array.isArray(value) ? value.map((v) => ["", v]) : Object.entries(value);
	if (entries.length === 0) return [flat];
	const [open, close] = Array.isArray(value) ? "[]" : "{}";
	const short = flat.length < 44 && !("requestState" in value) && entries.every(([, v]) => v === null || typeof v !== "object");
	const inner = short ? " " : `\n${indent}  `;
	const parts = entries.map(([k, v], i) => [
		i > 0 ? `,${inner}` : short ? "" : inner,
		k && [h("b", JSON.stringify(k)), ": "],
		json(v, `${indent}  `, k),
	]);
	return [open, ...parts, short ? "" : `\n${indent}`, close];
}
