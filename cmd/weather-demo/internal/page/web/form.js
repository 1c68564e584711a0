// A form made from the schema of a question, as the protocol restricts it: one
// flat object of strings, numbers, booleans and choices.

import { h } from "./dom.js";

// fieldsOf reads a requested schema. It returns null if there is something
// in it that this form cannot offer.
export function fieldsOf(schema) {
	const titled = (list) => list?.map((c) => [c.const, c.title ?? c.const]);
	const fields = Object.entries(schema?.properties ?? {}).map(([name, p]) => {
		const one = p.enum?.map((v, i) => [v, p.enumNames?.[i] ?? v]) ?? titled(p.oneOf);
		const several = p.type === "array" && (p.items?.enum?.map((v) => [v, v]) ?? titled(p.items?.anyOf ?? p.items?.oneOf));
		const kind = several
			? "several"
			: one
				? one.length <= 6
					? "one"
					: "select"
				: { boolean: "boolean", number: "number", integer: "number", string: "string" }[p.type];
		return { name, kind, choices: several || one, schema: p, initial: p.default, title: p.title ?? name, required: schema.required?.includes(name) };
	});
	return fields.length && fields.every((f) => f.kind) ? fields : null;
}

const inputTypes = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

// inputsFor describes the inputs of a form. What is marked data-first is where
// the focus goes.
export function inputsFor(fields, message) {
	return fields.map((f, i) => {
		const { kind, name, choices, initial, schema: p } = f;
		const id = `f-${name}`;
		const legend = fields.length === 1 ? message : f.title;
		const about = p.description && h("small", { id: `${id}-about` }, p.description);
		const chosen = (value) => (kind === "several" ? (initial ?? []).includes(value) : value === (initial ?? choices[0][0]));
		const tick = (type, label, n, checked) => h("label.choice", h("input", { type, name, "data-n": n, "data-first": i + n === 0, checked }), h("span", label));
		if (kind === "boolean") return h("fieldset", { key: id }, h("legend", legend), about, tick("checkbox", f.title, 0, initial === true));
		if (kind === "one" || kind === "several") {
			return h(
				"fieldset",
				{ key: id },
				h("legend", legend),
				about,
				choices.map(([value, title], n) => tick(kind === "one" ? "radio" : "checkbox", title, n, chosen(value))),
			);
		}
		const common = { id, name, required: f.required, "data-first": i === 0, "aria-describedby": about && `${id}-about` };
		return h(
			"div.field",
			{ key: id },
			h("label", { for: id }, legend),
			about,
			kind === "select"
				? h(
						"select",
						common,
						choices.map(([value, title], n) => h("option", { value: n, selected: chosen(value) }, title)),
					)
				: h("input", {
						...common,
						type: kind === "number" ? "number" : (inputTypes[p.format] ?? "text"),
						step: kind === "number" && (p.type === "integer" ? 1 : "any"),
						min: p.minimum,
						max: p.maximum,
						minlength: p.minLength,
						maxlength: p.maxLength,
						pattern: p.pattern,
						value: initial ?? "",
					}),
		);
	});
}

// contentOf reads the answers out of a form, with the types that the schema
// wants. What was left empty is left out.
export function contentOf(form, fields) {
	const content = {};
	for (const { name, kind, choices, schema } of fields) {
		const inputs = [...form.elements].filter((el) => el.name === name);
		const ticked = inputs.filter((el) => el.checked).map((el) => choices?.[el.dataset.n][0]);
		const { value } = inputs[0];
		if (kind === "boolean") content[name] = inputs[0].checked;
		else if (kind === "several") content[name] = ticked;
		else if (kind === "one") content[name] = ticked[0];
		else if (kind === "select") content[name] = choices[value][0];
		else if (value) content[name] = kind === "number" ? Number(value) : schema.format === "date-time" ? new Date(value).toISOString() : value;
	}
	return content;
}

// about says what the form was made from.
export function about(key, fields, legacy) {
	if (legacy) return "Asked by the server, over the open stream.";
	const [{ choices, kind }] = fields ?? [{ kind: "form that this page does not know" }];
	return [
		"A form made from the schema in the result: ",
		h("code", `"${key}"`),
		choices ? `, ${kind === "several" ? "any" : "one"} of ${choices.length}.` : `, a ${kind}.`,
	];
}
