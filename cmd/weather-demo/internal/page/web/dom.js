// Elements are described by h, and render brings the document up to the
// description in place, so that focus, scrolling and running animations stay.
// Text becomes text nodes: there is no way from a string to HTML.

const SVG = "http://www.w3.org/2000/svg";
// The properties an element was given last.
const described = new WeakMap();

// h("p.about", { id: "x" }, "text") is a paragraph of class "about". The
// properties may be left out; those that begin with "on" are handlers.
export function h(name, props, ...kids) {
	const [tag, ...classes] = name.split(".");
	if (Object(props) !== props || props.tag || Array.isArray(props)) {
		kids.unshift(props);
		props = {};
	}
	if (classes.length) props = { ...props, class: classes.join(" ") + (props.class ? ` ${props.class}` : "") };
	return { tag, props, kids: tidy(kids) };
}

const tidy = (kids) =>
	kids
		.flat(Infinity)
		.filter((k) => k || k === 0)
		.map((k) => (typeof k === "object" ? k : { text: String(k) }));

// What the views need often.
export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const quiet = { "aria-hidden": "true" };
export const th = (words, scope = "col", props) => h("th", { scope, ...props }, words);
export const sr = (...text) => h("span.sr", text);
export const button = (label, onclick, props = {}) => h("button", { type: "button", onclick, ...props }, label);
export const rect = (name, x, y, width, height, rx) => h(`rect.${name}`, { x, y, width, height, rx });
export const line = (name, x1, y1, x2, y2, props) => h(`line.${name}`, { x1, y1, x2, y2, ...props });
export const circle = (name, cx, cy, r, props) => h(`circle.${name}`, { cx, cy, r, ...props });
export const path = (name, d) => h(`path.${name}`, { d });
export const text = (name, x, y, words) => h(`text.${name}`, { x, y }, words);
export const svg = (name, width, height, ...kids) => h(`svg.${name}`, { viewBox: `0 0 ${width} ${height}`, width, height, ...quiet }, kids);

// radios lets one of a few be chosen: options are pairs of value and label.
export function radios(cls, legend, name, options, chosen, choose) {
	const option = ([value, label]) =>
		h("label", { key: value }, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) }), h("span", label));
	return h(`fieldset.${cls}`, h("legend", legend), h("div", options.map(option)));
}

// render makes the element's children what is described. A child with a key
// keeps its element wherever it moves; others keep theirs by tag and order.
export const render = (parent, ...kids) => reconcile(parent, tidy(kids));

function reconcile(parent, kids) {
	const keyed = new Map();
	const loose = [];
	for (const node of parent.childNodes) {
		const key = described.get(node)?.key;
		if (key === undefined) loose.push(node);
		else keyed.set(key, node);
	}
	kids.forEach((kid, at) => {
		const node = find(kid, keyed, loose) ?? create(kid, parent);
		if (parent.childNodes[at] !== node) parent.insertBefore(node, parent.childNodes[at] ?? null);
		if (kid.tag) update(node, kid);
		else if (node.data !== kid.text) node.data = kid.text;
	});
	while (parent.childNodes.length > kids.length) parent.lastChild.remove();
}

function find({ tag, props }, keyed, loose) {
	if (props?.key !== undefined) {
		const node = keyed.get(props.key);
		return node?.localName === tag ? node : undefined;
	}
	const i = loose.findIndex((node) => (tag ? node.localName === tag : node.nodeType === Node.TEXT_NODE));
	return i < 0 ? undefined : loose.splice(i, 1)[0];
}

function create({ tag, text }, parent) {
	if (!tag) return document.createTextNode(text);
	return tag === "svg" || parent.namespaceURI === SVG ? document.createElementNS(SVG, tag) : document.createElement(tag);
}

function update(node, { props, kids }) {
	const before = described.get(node) ?? {};
	for (const name in before) if (!(name in props)) set(node, name, null, before[name]);
	for (const name in props) if (asProperty.has(name) || before[name] !== props[name]) set(node, name, props[name], before[name]);
	described.set(node, props);
	reconcile(node, kids);
}

// The last is for the tests, which read what stands in an element against its story.
const asProperty = new Set(["value", "checked", "selected", "disabled", "seen"]);

function set(node, name, value, before) {
	if (name === "key") return;
	if (name.startsWith("on")) node[name] = value;
	else if (name === "style") for (const p in { ...before, ...value }) node.style.setProperty(p, value?.[p] ?? "");
	else if (asProperty.has(name)) {
		if (node[name] !== (value ?? false)) node[name] = value ?? false;
	} else if (value === null || value === undefined || value === false) node.removeAttribute(name);
	else node.setAttribute(name, value === true ? "" : value);
}
