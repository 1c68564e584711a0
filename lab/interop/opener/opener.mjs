// Opens sealed request states as statecodec/SPEC.md describes them. It was written from
// that page alone, with nothing but Node, to try whether the page is enough.
//
//	node opener.mjs FILE...
//
// A line of JSON for each vector of the files says what became of its token.
import { createDecipheriv, createHmac } from "node:crypto"
import { readFileSync } from "node:fs"

const hmac = (key, ...parts) => parts.reduce((h, p) => h.update(p), createHmac("sha256", key)).digest()

// RFC 5869.
function expand(prk, info, length) {
	let block = Buffer.alloc(0), out = Buffer.alloc(0)
	for (let i = 1; out.length < length; i++) {
		block = hmac(prk, block, info, Buffer.from([i]))
		out = Buffer.concat([out, block])
	}
	return out.subarray(0, length)
}

function field(text) {
	const bytes = Buffer.from(text), varint = []
	let n = bytes.length
	for (; n >= 0x80; n = Math.floor(n / 128)) varint.push((n % 128) | 0x80)
	return Buffer.concat([Buffer.from([...varint, n]), bytes])
}

class Refused extends Error {}
const refuse = (reason) => { throw new Refused(reason) }

const alphabet = /^[A-Za-z0-9_-]*$/
const value = (character) => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".indexOf(character)

// The bytes of a text that is the one spelling of so many bytes, or null.
function exactly(text, length) {
	if (!alphabet.test(text)) return null
	const bytes = Buffer.from(text, "base64url")
	return bytes.length === length && bytes.toString("base64url") === text ? bytes : null
}

const characters = (bytes) => Math.ceil((bytes * 8) / 6)

// Section 5. A parser of its own: JSON.parse rounds numbers and takes names twice.
function canonical(bytes) {
	const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
	let at = 0
	const fail = () => { throw new SyntaxError(`not canonical at ${at}`) }
	const space = () => { while (" \t\r\n".includes(text[at] ?? "x")) at++ }
	const take = (pattern) => {
		pattern.lastIndex = at
		const found = pattern.exec(text)
		if (!found) fail()
		at = pattern.lastIndex
		return found
	}
	function string() {
		const raw = take(/"((?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"/y)[0]
		const resolved = JSON.parse(raw)
		if (!resolved.isWellFormed()) fail()
		return resolved
	}
	const quoted = (s) => `"${s.replace(/["\\]/g, "\\$&").replace(/[\u0000-\u001f]/g, (c) => "\\u00" + c.charCodeAt(0).toString(16).padStart(2, "0"))}"`
	function number() {
		const [, sign, whole, fraction = "", written = "0"] = take(/(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?/y)
		if (written.replace(/^[+-]?0*/, "").length > 9) fail()
		let digits = (whole + fraction).replace(/^0+/, "")
		if (digits === "") return "0"
		const trimmed = digits.replace(/0+$/, "")
		const exponent = BigInt(written) - BigInt(fraction.length) + BigInt(digits.length - trimmed.length)
		if (String(exponent).replace("-", "").length > 9) fail()
		return sign + trimmed + (exponent === 0n ? "" : "e" + exponent)
	}
	function element(depth) {
		space()
		switch (text[at]) {
		case '"': return quoted(string())
		case "{": return object(depth + 1)
		case "[": return array(depth + 1)
		case "t": case "f": case "n": return take(/true|false|null/y)[0]
		}
		return number()
	}
	function list(depth, close, item) {
		if (depth > 128) fail()
		at++
		space()
		if (text[at] === close) { at++; return }
		for (;;) {
			item()
			space()
			const next = text[at++]
			if (next === close) return
			if (next !== ",") fail()
		}
	}
	function array(depth) {
		const items = []
		list(depth, "]", () => items.push(element(depth)))
		return `[${items.join(",")}]`
	}
	function object(depth) {
		const members = []
		list(depth, "}", () => {
			space()
			const name = string()
			// A pattern with the flags i and u compares by Unicode's simple case folding.
			const alike = new RegExp(`^${name.replace(/[^A-Za-z0-9]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`)}$`, "iu")
			if (members.some((m) => alike.test(m.name))) fail()
			space()
			if (text[at++] !== ":") fail()
			const written = quoted(name)
			members.push({ name, order: Buffer.from(written.slice(1, -1)), written: `${written}:${element(depth)}` })
		})
		return `{${members.sort((a, b) => Buffer.compare(a.order, b.order)).map((m) => m.written).join(",")}}`
	}
	const all = element(0)
	space()
	if (at !== text.length) fail()
	return Buffer.from(all)
}

// Section 7, whose order of reasons it keeps.
function open(token, ring, at, { method, target, arguments: args, principal, audience, session, purpose, skew, cap }) {
	if (Buffer.byteLength(token) > cap) refuse("too_large")
	const header = token.length >= 50 && exactly(token.slice(0, 28), 21)
	if (!header) refuse("malformed")
	const flags = header[1]
	if (header[0] !== 1 || flags & 0xf0) refuse("unknown_version")
	const bodyLength = header.readUIntBE(6, 3), issued = header.readUIntBE(9, 6), expires = header.readUIntBE(15, 6)
	let begins = 28
	if (flags & 8) {
		const counted = value(token[28]) + 1
		begins += 1 + counted
		if (counted === 0 || token.length < begins || !alphabet.test(token.slice(29, begins))) refuse("malformed")
	}
	// Without an instance, header and body are one run of characters.
	const joined = flags & 8 ? 0 : 21
	const ends = joined ? characters(21 + bodyLength) : begins + characters(bodyLength)
	if (token.length !== ends + 22 || !(flags & 1) && bodyLength < 16) refuse("wrong_length")
	const prk = ring.map((secret) => hmac("mrtr statecodec v1", secret)).find((prk) => expand(prk, Buffer.from("key id"), 4).equals(header.subarray(2, 6)))
	if (!prk) refuse("unknown_key")
	let written
	try {
		written = canonical(args === undefined ? Buffer.from("{}") : Buffer.from(args))
	} catch {
		refuse("unusable_arguments")
	}
	const keys = expand(prk, Buffer.concat([Buffer.from("token"), Buffer.from([flags & 0x06]), field(purpose),
		flags & 2 ? field(principal) : Buffer.alloc(0), flags & 4 ? field(session) : Buffer.alloc(0)]), 64)
	const tag = hmac(keys.subarray(0, 32), field(method), field(target), field(principal), field(audience), field(session),
		written, Buffer.from([0]), token.slice(0, -22)).subarray(0, 16)
	if (tag.toString("base64url") !== token.slice(-22)) refuse("forged_or_transplanted")
	if (expires <= issued) refuse("not_canonical")
	if (at >= expires + skew) refuse("expired")
	if (at < issued - skew) refuse("from_the_future")
	const bytes = exactly(token.slice(joined ? 0 : begins, ends), joined + bodyLength)
	if (!bytes) refuse("not_canonical")
	const body = bytes.subarray(joined)
	if (flags & 1) return body
	const cipher = createDecipheriv("aes-256-ctr", keys.subarray(32), body.subarray(0, 16))
	return Buffer.concat([cipher.update(body.subarray(16)), cipher.final()])
}

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

// An archive's vectors, each behind a line with its name: name, text, name, text and so on.
const archives = process.argv.slice(2).map((file) => readFileSync(file, "utf8").split(/^-- (\S+) --\n/m).slice(1))
const sections = archives.flat()

for (let i = 0; i < sections.length; i += 2) {
	const text = sections[i + 1]
	const border = text.indexOf("\n\n")
	const token = text.slice(border + 2, -1)
	const headers = { key: [], purpose: "", principal: "", audience: "", session: "", method: "", target: "", skew: "0s" }
	for (const line of text.slice(0, border).split("\n")) {
		const [name, ...rest] = line.split(": ")
		if (name === "key") headers.key.push(Buffer.from(rest.join(": "), "hex"))
		else headers[name.replace(/:$/, "")] = rest.join(": ")
	}
	const [, count, unit] = /^(\d+)(\w+)$/.exec(headers.skew)
	const result = { name: sections[i] }
	try {
		result.payload = open(token, headers.key, Date.parse(headers.time), {
			...headers, skew: Number(count) * units[unit], cap: Number(headers["max-token"] ?? Infinity),
		}).toString("hex")
	} catch (e) {
		if (!(e instanceof Refused)) throw e
		result.refused = e.message
	}
	console.log(JSON.stringify(result))
}
