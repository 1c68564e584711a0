// A message as it was on the wire.

import { h } from "./dom.js";

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
