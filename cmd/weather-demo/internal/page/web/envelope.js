// The sealed state, drawn as an envelope of 64 by 42.

import { circle, h, path, quiet, rect } from "./dom.js";

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
