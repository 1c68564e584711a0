// Elements are described by h, and render brings the document up to the
// description in place, so that focus, scrolling and running animations stay.
// Text becomes text nodes: there is no way from a string to HTML.

const SVG = "http://www.w3.org/2000/svg";
const described = new WeakMap(); // the properties an element was given last

// h("p.about", { id: "x" }, "text") is a paragraph of class "about". The
// properties may be left out; names that begin with "on" are handlers.
export function h(name, props, ...kids) {
	const [tag, ...classes] = name.split(".");
	if (props === null || typeof props !== "object" || props.tag || Array.isArray(props)) {
		kids.unshift(props);
		props = {};
	}
	if (classes.length > 0) props = { ...props, class: classes.join(" ") };
	return { tag, props, kids: tidy(kids) };
}

function tidy(kids) {
	return kids
		.flat(Infinity)
		.filter((k) => k !== null && k !== undefined && k !== false && k !== "")
		.map((k) => (typeof k === "object" ? k : { text: String(k) }));
}

// render makes the element's children what is described. A child with a key
// keeps its element wherever it moves; others keep theirs by tag and order.
export function render(parent, ...kids) {
	reconcile(parent, tidy(kids));
}

function reconcile(parent, kids) {
	const keyed = new Map();
	const loose = [];
	for (const node of parent.childNodes) {
		const key = described.get(node)?.key;
		if (key !== undefined) keyed.set(key, node);
		else loose.push(node);
	}
	let at = 0;
	for (const kid of kids) {
		const node = find(kid, keyed, loose) ?? create(kid, parent);
		if (parent.childNodes[at] !== node) parent.insertBefore(node, parent.childNodes[at] ?? null);
		at++;
		if (kid.tag) update(node, kid);
		else if (node.data !== kid.text) node.data = kid.text;
	}
	while (parent.childNodes.length > at) parent.lastChild.remove();
}

function find(kid, keyed, loose) {
	if (kid.tag && kid.props.key !== undefined) {
		const node = keyed.get(kid.props.key);
		return node?.localName === kid.tag ? node : undefined;
	}
	const i = loose.findIndex((node) => (kid.tag ? node.localName === kid.tag : node.nodeType === Node.TEXT_NODE));
	return i < 0 ? undefined : loose.splice(i, 1)[0];
}

function create(kid, parent) {
	if (!kid.tag) return document.createTextNode(kid.text);
	const inSVG = kid.tag === "svg" || (parent.namespaceURI === SVG && parent.localName !== "foreignObject");
	return inSVG ? document.createElementNS(SVG, kid.tag) : document.createElement(kid.tag);
}

const asProperty = new Set(["value", "checked", "selected", "disabled"]);

function update(node, { props, kids }) {
	const before = described.get(node) ?? {};
	for (const name of Object.keys(before)) if (!(name in props)) set(node, name, null, before[name]);
	for (const [name, value] of Object.entries(props)) {
		if (name === "checked" || name === "value" || before[name] !== value) set(node, name, value, before[name]);
	}
	described.set(node, props);
	reconcile(node, kids);
}

function set(node, name, value, before) {
	if (name === "key") return;
	if (name.startsWith("on")) {
		node[name] = value;
	} else if (name === "style") {
		for (const p of Object.keys(before ?? {})) if (!(p in (value ?? {}))) node.style.removeProperty(p);
		for (const [p, v] of Object.entries(value ?? {})) if (before?.[p] !== v) node.style.setProperty(p, v);
	} else if (asProperty.has(name)) {
		if (node[name] !== (value ?? false)) node[name] = value ?? false;
	} else if (value === null || value === undefined || value === false) {
		node.removeAttribute(name);
	} else {
		node.setAttribute(name, value === true ? "" : value);
	}
}
