// The sealed state, drawn: small on an arrow, larger in the client's hands, and
// whole in its own tab.

import { h } from "./dom.js";

// envelope draws one of 64 by 42, scaled to the width.
export function envelope(width, { torn = false, draining = false } = {}) {
	return h(
		"svg",
		{ class: `env${torn ? " torn" : ""}`, viewBox: "-2 -2 68 46", width, height: Math.round((width * 46) / 68), "aria-hidden": "true" },
		envelopeParts({ torn, draining }),
	);
}

// envelopeParts are its shapes, for drawings that place them by themselves.
export function envelopeParts({ torn = false, draining = false } = {}) {
	return [
		h("rect.paper", { width: 64, height: 42, rx: 2 }),
		h("path.fold", { d: "M1 41 25 21M63 41 39 21" }),
		h("path.flap", { d: "M0 1 32 25 64 1" }),
		h("circle.wax", { cx: 32, cy: 24, r: 7 }),
		h("circle.wax-ring", { cx: 32, cy: 24, r: 4 }),
		draining && h("circle.drain", { cx: 32, cy: 24, r: 10, pathLength: 1 }),
		torn && h("path.tear", { d: "M36 0 29 11 37 18 28 27 35 33 30 42" }),
	];
}
