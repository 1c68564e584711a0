// A form made from the schema of a question, as the protocol restricts it: one
// flat object of strings, numbers, booleans and choices.

import { h } from "./dom.js";

// fieldsOf reads a requested schema. It returns null where there is something
// in it that this form cannot offer.
export function fieldsOf(schema) {
	const required = new Set(schema?.required ?? []);
	const fields = [];
	for (const [name, p] of Object.entries(schema?.properties ?? {})) {
		const field = { name, required: required.has(name), title: p.title ?? name, about: p.description, initial: p.default, schema: p };
		const choices = p.enum?.map((v, i) => [v, p.enumNames?.[i] ?? v]) ?? p.oneOf?.map((c) => [c.const, c.title ?? c.const]);
		const several = p.items?.enum?.map((v) => [v, v]) ?? (p.items?.anyOf ?? p.items?.oneOf)?.map((c) => [c.const, c.title ?? c.const]);
		if (p.type === "array" && several) Object.assign(field, { kind: "several", choices: several });
		else if (choices) Object.assign(field, { kind: choices.length <= 6 ? "one" : "select", choices });
		else if (p.type === "boolean") field.kind = "boolean";
		else if (p.type === "number" || p.type === "integer") field.kind = "number";
		else if (p.type === "string") field.kind = "string";
		else return null;
		fields.push(field);
	}
	return fields.length > 0 ? fields : null;
}

const inputTypes = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

// inputsFor describes the inputs of a form. The first choice of the first
// question is where the focus goes.
export function inputsFor(fields, message) {
	return fields.map((f, i) => {
		const id = `f-${f.name}`;
		const about = f.about && h("small", { id: `${id}-about` }, f.about);
		const legend = fields.length === 1 ? message : f.title;
		const choice = (type, [value, title], n, checked) =>
			h("label.choice", h("input", { type, name: f.name, value: String(value), "data-n": n, "data-first": i === 0 && n === 0, checked }), h("span", String(title)));
		if (f.kind === "one") {
			const chosen = f.initial ?? f.choices[0][0];
			return h("fieldset", { key: id }, h("legend", legend), about, f.choices.map((c, n) => choice("radio", c, n, c[0] === chosen)));
		}
		if (f.kind === "several") {
			return h("fieldset", { key: id }, h("legend", legend), about, f.choices.map((c, n) => choice("checkbox", c, n, (f.initial ?? []).includes(c[0]))));
		}
		if (f.kind === "boolean") {
			return h("fieldset", { key: id }, h("legend", legend), about, h("label.choice", h("input", { type: "checkbox", name: f.name, "data-first": i === 0, checked: f.initial === true }), h("span", f.title)));
		}
		const common = { id, name: f.name, required: f.required, "data-first": i === 0, "aria-describedby": f.about && `${id}-about` };
		return h(
			"div",
			{ key: id, class: "field" },
			h("label", { for: id }, legend),
			about,
			f.kind === "select"
				? h("select", common, f.choices.map(([value, title], n) => h("option", { value: String(n), selected: value === (f.initial ?? f.choices[0][0]) }, String(title))))
				: h("input", {
						...common,
						type: f.kind === "number" ? "number" : inputTypes[f.schema.format] ?? "text",
						step: f.kind === "number" ? (f.schema.type === "integer" ? "1" : "any") : null,
						min: f.schema.minimum, max: f.schema.maximum, minlength: f.schema.minLength, maxlength: f.schema.maxLength, pattern: f.schema.pattern,
						value: f.initial === undefined ? "" : String(f.initial),
					}),
		);
	});
}

// contentOf reads the answers out of a form, with the types that the schema
// wants. What was left empty and need not be filled is left out.
export function contentOf(form, fields) {
	const content = {};
	for (const f of fields) {
		const inputs = [...form.querySelectorAll("input, select")].filter((el) => el.name === f.name);
		const [input] = inputs;
		if (f.kind === "one") {
			const chosen = inputs.find((el) => el.checked);
			if (chosen) content[f.name] = f.choices[chosen.dataset.n][0];
		} else if (f.kind === "several") {
			content[f.name] = inputs.filter((el) => el.checked).map((el) => f.choices[el.dataset.n][0]);
		} else if (f.kind === "boolean") {
			content[f.name] = input.checked;
		} else if (f.kind === "select") {
			content[f.name] = f.choices[Number(input.value)][0];
		} else if (input.value !== "") {
			content[f.name] = f.kind === "number" ? Number(input.value) : f.schema.format === "date-time" ? new Date(input.value).toISOString() : input.value;
		}
	}
	return content;
}

// about says what the form was made from.
export function about(key, fields, legacy) {
	if (legacy) return "Asked by the server, over the open stream.";
	const [f] = fields ?? [];
	const what = !f ? "" : f.choices ? `, one of ${f.choices.length}` : `, a ${f.kind}`;
	return ["A form made from the schema in the result: ", h("code", `"${key}"`), `${f?.kind === "several" ? ", any" : ""}${f?.kind === "several" ? ` of ${f.choices.length}` : what}.`];
}
