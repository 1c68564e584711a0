"""A bank on Python's standard library that asks before it pays.

One process serves every design, each with every mistake, and prints its port:

    POST /DESIGN/MISTAKE/SECRET/INSTANCE/mcp       the MCP endpoint; MISTAKE is - for none
    GET  /DESIGN/MISTAKE/SECRET/INSTANCE/effects   how often each effect happened
    POST /DESIGN/MISTAKE/SECRET/INSTANCE/expire    moves the clock by an hour

Instances with the same secret share effects, ledger and clock, and no other memory. With
--stdio DESIGN MISTAKE it serves one of them over stdin and stdout, takes its secret from
STATE_KEY, and adds a line to the file EFFECTS for each effect. Its clock is ahead by as many
hours as EFFECTS.hours has bytes.
"""

import base64
import hashlib
import hmac
import json
import os
import queue
import secrets
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DESIGNS = {
    "sealed": {},
    "jwt": {"codec": "jwt"},
    "hex": {"codec": "hex"},
    "handle": {"codec": "handle", "use": "refuse"},
    "once": {"use": "replay"},
    "random-keys": {"keys": "random"},
    "error-decline": {"decline": "error"},
    "numbered": {"text": "numbered"},
    "quoting": {"text": "quoting"},
    "strict": {"invalid": "refuse"},
    "lenient": {"invalid": "decline"},
    "told": {"refusal": "told"},
    "legacy": {"legacy": True},
    "stateless": {"codec": "none"},
}

FORMS = {
    "amount": {
        "amount": {"type": "integer", "minimum": 1, "maximum": 500},
        "memo": {"type": "string", "maxLength": 20},
        "speed": {"type": "string", "enum": ["slow", "fast"]},
    },
    "confirm": {"confirm": {"type": "boolean", "default": False}},
}
REQUIRED = {"amount": ["amount", "speed"], "confirm": ["confirm"]}
PREFIX = "io.modelcontextprotocol/"
TYPES = {"string": str, "integer": int, "boolean": bool}


class Refusal(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


class Invalid(Exception):
    """An answer that does not answer its question."""


def b64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def dumps(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


class Deployment:
    """What all instances with the same secret share."""

    def __init__(self):
        self.effects, self.ledger, self.lock, self.offset, self.receipts = Counter(), {}, threading.Lock(), 0, 0


class Instance:
    """One server of a deployment, with its memory."""

    def __init__(self, design, mistake, secret, deployment):
        self.d, self.mistake, self.secret, self.shared = DESIGNS[design], mistake, secret, deployment
        if self.has("weak-key"):
            self.secret = "secret"
        if self.has("same-key"):
            self.secret = "fixed-4b1d0e7a"
        self.handles, self.sessions, self.paid, self.last, self.current, self.serial = {}, {}, {}, None, None, 0

    def has(self, *mistakes):
        return self.mistake in mistakes

    # The state.

    def tag(self, text):
        if self.has("checksum"):
            return hashlib.sha256(text.encode()).digest()
        return hmac.new(self.secret.encode(), text.encode(), "sha256").digest()

    def seal(self, claims):
        claims = {**claims, "exp": self.now() + 600, "nonce": secrets.token_hex(6)}
        codec = self.d.get("codec", "hmac")
        if codec == "none":
            return None
        if codec == "handle":
            self.serial += 1
            handle = f"call-{self.serial}" if self.has("counter-handle") else secrets.token_urlsafe(24)
            self.handles[handle] = claims
            return handle
        if codec == "hex":
            body = dumps(claims).hex()
            return body + ":" + self.tag(self.covered(body)).hex()
        body = b64(dumps(claims))
        if codec == "jwt":
            body = b64(dumps({"alg": "HS256", "typ": "JWT"})) + "." + body
        self.last = body + "." + b64(self.tag(self.covered(body)))
        return self.last

    def covered(self, body):
        """What the tag covers: all of the body, unless that is the mistake."""
        if self.has("partly-signed"):
            claims = self.claims(body)
            return dumps([claims.get(k) for k in ("tool", "args", "user", "id")]).decode()
        return body

    def claims(self, body):
        return json.loads(bytes.fromhex(body) if self.d.get("codec") == "hex" else unb64(body.split(".")[-1]))

    def open(self, state):
        if not isinstance(state, str):
            if self.has("not-text") and self.last:
                state = self.last
            else:
                raise self.bad_state()
        try:
            return self.opened(state)
        except (ValueError, KeyError, AttributeError, TypeError, IndexError):
            if self.has("falls-back") and self.last:
                return self.opened(self.last)
            raise self.bad_state() from None

    def opened(self, state):
        if self.d.get("codec") == "handle":
            if self.has("handle-prefix"):
                state = next(h for h in [*self.handles, None] if h is None or h.startswith(state))
            if self.has("handle-fold"):
                state = next(h for h in [*self.handles, None] if h is None or h.lower() == state.lower())
            return self.handles[state]
        if self.has("trims"):
            state = state.removesuffix("x").removesuffix("AAAA").removeprefix("x")
        body, _, tag = state.rpartition(":" if self.d.get("codec") == "hex" else ".")
        if self.has("parts-by-index"):
            body, tag = state.split(".")[-2:] if self.d.get("codec") != "jwt" else (".".join(state.split(".")[:2]), state.split(".")[2])
        if self.d.get("codec") == "jwt":
            header = json.loads(unb64(body.split(".")[0]))
            if self.has("alg-none") and str(header["alg"]).lower() == "none":
                return self.claims(body)
            if header != {"alg": "HS256", "typ": "JWT"}:
                raise ValueError("header")
        if self.has("unsigned-ok") and not tag:
            return self.claims(body)
        want = self.tag(self.covered(body))
        want = want.hex() if self.d.get("codec") == "hex" else b64(want)
        good = hmac.compare_digest(want.encode(), tag.encode())
        if self.has("unverified"):
            good = True
        if self.has("first-8"):
            good = want[:8] == tag[:8]
        if self.has("as-far-as-it-goes"):
            good = want.startswith(tag)
        if not good:
            raise ValueError("tag")
        return self.claims(body)

    def misplaced(self, claims, call):
        args = claims["args"] != call.args and not self.has("arguments-once")
        if self.has("binds-part"):
            args = claims["args"].get("to") != call.args.get("to")
        user = claims["user"] != call.user
        if self.has("user-if-any"):
            user = user and call.user is not None
        return (
            claims["exp"] < self.now() and not self.has("no-expiry", "binds-nothing")
            or user and not self.has("no-user", "binds-nothing")
            or args and not self.has("no-args", "binds-nothing")
            or claims["tool"] != call.name and not self.has("no-tool", "binds-nothing")
        )

    def bad_state(self):
        if self.has("refusal-pays"):
            self.effect("charge")
        if self.has("forgets-on-bad"):
            self.shared.ledger["burnt"] = self.shared.receipts = self.shared.receipts + 1
            self.handles.clear()
        if self.has("reserved-code"):
            return Refusal(-32042, "the state is not good")
        if self.has("internal-error"):
            return Refusal(-32603, "unexpected state")
        return Refusal(-32602, "the state is not good")

    def now(self):
        if STDIO and os.path.exists(os.environ["EFFECTS"] + ".hours"):
            return time.time() + 3600 * os.path.getsize(os.environ["EFFECTS"] + ".hours")
        return time.time() + self.shared.offset

    # The call.

    def call(self, call):
        if call.name == "no_such_tool" and self.has("unknown-as-result"):
            return self.text("no such tool", True)
        if call.name not in ("transfer", "refund"):
            raise Refusal(-32602, "no such tool")
        if not (self.has("arguments-once") and call.state):
            self.check_arguments(call)
        if call.responses is not None and not isinstance(call.responses, dict):
            if not self.has("list-of-responses"):
                raise Refusal(-32602, "inputResponses is no object")
            call.responses = {k: self.accept(k) for k in FORMS}
        claims = self.begun(call)
        if isinstance(claims, dict) and "content" in claims:
            return claims
        if claims is None:
            self.gate(call)
            claims = {"tool": call.name, "args": call.args, "user": call.user, "id": secrets.token_hex(8), "step": "amount"}
            if self.has("charges-first"):
                self.effect("charge")
            if self.has("ahead") and call.responses:
                return self.go_on(claims, call)
            self.current = call.args
            return self.ask(claims, call)
        return self.go_on(claims, call)

    def begun(self, call):
        if self.d.get("codec") == "none":
            return {"tool": call.name, "args": call.args, "user": call.user, "id": secrets.token_hex(8), "step": "both"} if call.responses else None
        if call.state is None or call.state == "" and not self.has("empty-is-last"):
            return None
        if self.d.get("refusal") == "told":
            try:
                claims = self.open(call.state)
                if self.misplaced(claims, call):
                    raise self.bad_state()
            except Refusal:
                return self.text("That took too long, or was not yours. Nothing was paid, please begin again.")
        else:
            claims = self.open(call.state)
            if self.misplaced(claims, call):
                raise self.bad_state()
        if self.d.get("use") == "refuse" and not self.has("replay"):
            self.handles.pop(next(h for h, c in self.handles.items() if c is claims))
        if self.has("global-state"):
            claims = {**claims, "args": self.current}
        return claims

    def check_arguments(self, call):
        args = call.args
        if not isinstance(args, dict):
            if self.has("no-arguments"):
                call.args = {"to": "nobody"}
                return
            raise Refusal(-32602, "arguments must be an object")
        if self.has("missing-argument"):
            args.setdefault("to", "nobody")
        good = isinstance(args.get("to"), str) or self.has("argument-type") and "to" in args
        good = good and isinstance(args.get("reference", ""), str) and (set(args) <= {"to", "reference"} or self.has("unknown-argument"))
        if not good:
            raise Refusal(-32602, "the arguments are not good")

    def gate(self, call):
        elicitation = call.caps.get("elicitation")
        if elicitation is not None and (not elicitation or "form" in elicitation or self.has("any-mode")) or self.has("asks-anybody"):
            return
        if self.has("unasked-pays"):
            self.effect("charge")
        if self.has("unasked-error"):
            raise Refusal(-32600, "elicitation is needed")
        raise Refusal(-32021, "elicitation is needed", None if self.has("unnamed") else {"requiredCapabilities": {"elicitation": {"form": {}}}})

    def ask(self, claims, call, again=False):
        if claims["step"] == "confirm" and not self.has("gate-once") or again and not self.has("gate-once"):
            self.gate(call)
        if again and self.has("asking-again-pays"):
            self.effect("charge")
        if not again and claims["step"] == "confirm" and self.has("charges-before-asking"):
            self.effect("charge")
        claims["tries"] = claims.get("tries", 0) + 1 if again and not self.has("endless") else 0
        if claims["tries"] > 3:
            return self.declined("Nobody answered. ")
        steps = list(FORMS) if claims["step"] == "both" else [claims["step"]]
        claims["keys"] = {s: f"{s}-{secrets.token_hex(3)}" if self.d.get("keys") == "random" else s for s in steps}
        requests = {claims["keys"][s]: {"method": "elicitation/create", "params": self.form(s, claims)} for s in steps}
        result = {"resultType": "input_required", "inputRequests": requests}
        state = self.seal(claims)
        return result if state is None else {**result, "requestState": state}

    def form(self, step, claims):
        message = {"amount": "How much is to be paid?", "confirm": "Pay it?"}[step]
        if self.d.get("text") == "quoting" and step == "confirm":
            message = f"Pay {claims['amount']} to {claims['args']['to']}?"
        if self.d.get("text") == "numbered":
            message += f" (Call {claims['id']}, {time.strftime('%H:%M:%S')}.)"
        properties = FORMS[step]
        if self.has("nested-form"):
            properties = {**properties, "of": {"type": "object", "properties": {}}}
        schema = {"type": "object", "required": REQUIRED[step], "properties": properties}
        return {"message": message, "requestedSchema": schema, **({} if self.has("no-mode") else {"mode": "form"})}

    def go_on(self, claims, call):
        if self.has("charges-each-round"):
            self.effect("charge")
        try:
            for step in list(FORMS) if claims["step"] == "both" else [claims["step"]]:
                answer = self.answer(step, claims, call.responses or {})
                if answer is None:
                    if self.has("missing-error"):
                        raise Refusal(-32602, "the answer is missing")
                    return self.ask(claims, call, again=True)
                if answer == "no":
                    return self.declined()
                if step == "amount":
                    claims = {**claims, **answer}
                elif not answer["confirm"] and not self.has("false-pays"):
                    return self.declined()
                elif not answer["confirm"]:
                    return self.pay(claims, call, "Nothing was paid")
        except Invalid as e:
            if self.d.get("invalid") == "refuse":
                raise Refusal(-32602, str(e)) from None
            if self.d.get("invalid") == "decline":
                return self.declined()
            return self.ask(claims, call, again=True)
        if claims["step"] == "amount":
            if self.has("ahead") and "confirm" in (call.responses or {}):
                return self.go_on({**claims, "step": "confirm", "keys": {"confirm": "confirm"}}, call)
            return self.ask({**claims, "step": "confirm"}, call)
        if self.has("old-answers-again"):
            claims = {**claims, **{k: v for r in (call.responses or {}).values() if isinstance(r, dict) for k, v in (r.get("content") or {}).items() if k in FORMS["amount"]}}
        return self.pay(claims, call)

    def accept(self, step):
        return {"action": "accept", "content": {"amount": 1, "speed": "slow"} if step == "amount" else {"confirm": True}}

    def answer(self, step, claims, responses):
        """The content of an acceptance, "no", or None where there is none."""
        key = claims.get("keys", {}).get(step, step)
        response = responses.get(key)
        if self.has("any-key") and responses:
            response = next(iter(responses.values()))
        if self.has("key-fold"):
            response = next((r for k, r in responses.items() if k.strip().lower().endswith(key)), None)
        if self.has("prototype") and key not in responses and "__proto__" in responses:
            response = responses["__proto__"].get(key)
        if self.has("refuses-extras") and set(responses) - {key}:
            raise Refusal(-32602, "an answer to no question")
        if key not in responses and response is None:
            return None
        if self.has("null-default") and response is None or self.has("number-default") and isinstance(response, (int, str)):
            return self.accept(step)["content"]
        if self.has("other-kind") and isinstance(response, dict) and ("roots" in response or "role" in response):
            return self.accept(step)["content"]
        if self.has("dies") and not isinstance(response, dict):
            response["action"]
        if not isinstance(response, dict):
            raise Invalid("the answer is no object")
        action = response.get("action", "accept") if self.has("default-action") else response.get("action")
        if self.has("any-action") and action not in ("decline", "cancel"):
            action = "accept"
        if self.has("content-decides") and response.get("content"):
            action = "accept"
        if action in ("decline", "cancel"):
            if self.has(action + "-pays"):
                return self.accept(step)["content"]
            return "no"
        if action != "accept":
            raise Invalid("the action is unknown")
        content = response.get("content")
        if self.has("merges-extras"):
            content = {k: v for r in responses.values() if isinstance(r, dict) for k, v in (r.get("content") or {}).items()}
        if self.has("empty-default") and not content:
            return self.accept(step)["content"]
        if not isinstance(content, dict):
            raise Invalid("the content is no object")
        return self.checked(step, dict(content))

    def checked(self, step, content):
        for name in REQUIRED[step]:
            if name not in content and self.has("required-default"):
                content[name] = self.accept(step)["content"][name]
            if name not in content:
                raise Invalid(f"{name} is missing")
        for name, schema in FORMS[step].items():
            if name in content:
                content[name] = self.fitting(schema, content[name])
        return content

    def fitting(self, schema, value):
        kind = schema["type"]
        if self.has("coerces") and kind == "integer" and isinstance(value, str) and value.isdigit():
            value = int(value)
        if self.has("truthy") and kind == "boolean":
            value = bool(value)
        if self.has("rounds") and isinstance(value, float):
            value = int(value)
        is_bool = isinstance(value, bool) and kind != "boolean" and not self.has("bool-is-int")
        if not isinstance(value, TYPES[kind]) and not self.has("untyped") or is_bool:
            if not (isinstance(value, float) and value == int(value) and kind == "integer"):
                raise Invalid("another type")
        if "enum" in schema and value not in schema["enum"] and not self.has("any-choice"):
            raise Invalid("none of the choices")
        if not isinstance(value, (int, float)) and kind == "integer":
            return 1
        if kind == "integer" and (value < schema["minimum"] and not self.has("no-minimum") or value > schema["maximum"] and not self.has("no-maximum")):
            raise Invalid("out of bounds")
        if kind == "string" and isinstance(value, str) and len(value) > schema.get("maxLength", 100) and not self.has("any-length"):
            raise Invalid("too long")
        return value

    def pay(self, claims, call, said=None):
        if self.d.get("use") != "replay":
            return self.paid_for(claims, said)
        ledger, entry = self.shared.ledger, claims["id"]
        if self.has("by-answers"):
            entry += str(sorted(call.responses.items(), key=str))
        if self.has("by-state"):
            entry = call.state
        if self.has("per-instance"):
            ledger = self.paid
        if self.has("race"):
            if entry not in ledger:
                time.sleep(0.02)
                ledger[entry] = self.paid_for(claims, said)
            return ledger[entry]
        with self.shared.lock:
            if entry not in ledger or self.has("replay"):
                ledger[entry] = self.paid_for(claims, said)
            return ledger[entry]

    def paid_for(self, claims, said=None):
        if self.has("racy-global"):
            self.current = claims
            time.sleep(0.005)
            claims = self.current
        self.effect("charge", 2 if self.has("charges-twice") else 1)
        said = said or f"Paid {claims['amount']} to {claims['args']['to']}"
        return self.text(said + self.receipt(), paid=claims["amount"])

    def declined(self, why=""):
        return self.text(why + "Nothing was paid" + self.receipt(), self.d.get("decline") == "error")

    def receipt(self):
        self.shared.receipts += 1
        if self.d.get("text") != "numbered" and self.mistake not in ("decline-pays", "cancel-pays", "false-pays"):
            return "."
        return f", note {self.shared.receipts} of {time.strftime('%Y-%m-%d %H:%M:%S')}, {secrets.token_hex(4)}."

    def text(self, text, error=False, paid=0):
        result = {"resultType": "done" if self.has("result-type") else "complete", "content": [{"type": "text", "text": text}], "isError": error}
        if not error:
            result["structuredContent"] = {"paid": str(paid) if self.has("output") else paid}
        if self.has("no-result-type"):
            del result["resultType"]
        return result

    def effect(self, name, times=1):
        with LOCK:
            self.shared.effects[name] += times
        if STDIO:
            with open(os.environ["EFFECTS"], "a", encoding="utf-8") as file:
                file.write(f"{name}\n" * times)

    # Legacy clients, who are asked over the stream of their one request.

    def legacy_call(self, session, call, ask):
        declared = session["caps"].get("elicitation") is not None
        self.check_arguments(call)
        claims = {"tool": call.name, "args": call.args, "user": call.user, "id": secrets.token_hex(8)}
        if self.has("legacy-leak"):
            return {"content": [], "inputRequests": {}, "requestState": "x"}
        if self.has("legacy-empty") and declared:
            return {"content": []}
        if not declared and not self.has("legacy-asks-anybody"):
            return self.text("This client cannot be asked.", True)
        for step in FORMS:
            try:
                answer = self.answer(step, {}, {step: ask(self.form(step, {**claims, "amount": 0}))})
            except Invalid:
                answer = "no"
            if (answer in (None, "no")) or step == "confirm" and not answer["confirm"]:
                if not self.has("legacy-decline-pays"):
                    return self.declined()
                answer = {"amount": 1}
            claims.update(answer)
        return self.paid_for(claims)


class Call:
    def __init__(self, params, user):
        self.name, self.args, self.user = params.get("name"), params.get("arguments", {}), user
        self.state, self.responses = params.get("requestState"), params.get("inputResponses")
        meta = params.get("_meta") or {}
        self.caps = meta.get(PREFIX + "clientCapabilities") or {}


def tools(instance, caps):
    properties = {"to": {"type": "string"}, "reference": {"type": "string"}}
    schema = {"type": "object", "required": ["to"], "properties": properties, "additionalProperties": False}
    output = {"type": "object", "required": ["paid"], "properties": {"paid": {"type": "integer"}}}
    names = ["transfer", "refund"]
    if instance.has("list-varies") and "elicitation" not in caps:
        names = ["transfer"]
    return [{"name": n, "description": "Pays.", "inputSchema": schema, "outputSchema": output} for n in names]


def answer_to(instance, message, user):
    """The JSON-RPC response to a modern request."""
    response = {"jsonrpc": "2.0", "id": message.get("id")}
    params = message.get("params") or {}
    try:
        if message.get("method") == "tools/list":
            caps = (params.get("_meta") or {}).get(PREFIX + "clientCapabilities") or {}
            result = {"resultType": "complete", "tools": tools(instance, caps), "ttlMs": 0, "cacheScope": "private"}
        elif message.get("method") == "tools/call":
            result = instance.call(Call(params, user))
        else:
            raise Refusal(-32601, "no such method")
        return {**response, "result": result}
    except Refusal as refusal:
        return {**response, "error": refusal.error}


WORLD, DEPLOYMENTS, LOCK, STDIO = {}, {}, threading.Lock(), False


def instance_of(design, mistake, secret, name):
    with LOCK:
        deployment = DEPLOYMENTS.setdefault((design, mistake, secret), Deployment())
        return WORLD.setdefault((design, mistake, secret, name), Instance(design, mistake, secret, deployment))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def send(self, status, value=None, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def find(self):
        *where, what = self.path.strip("/").split("/")
        return instance_of(*where), what

    def do_GET(self):
        instance, what = self.find()
        if what == "effects":
            return self.send(200, dict(instance.shared.effects))
        self.send(405)

    def do_POST(self):
        instance, what = self.find()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if what == "expire":
            instance.shared.offset += 3600
            return self.send(200, {})
        message = json.loads(body)
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        user = token if scheme == "Bearer" else None
        session = instance.sessions.get(self.headers.get("Mcp-Session-Id"))
        if instance.d.get("legacy") and message.get("method") == "initialize":
            name = secrets.token_hex(8)
            instance.sessions[name] = {"caps": message["params"].get("capabilities") or {}, "answers": {}}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "bank", "version": "1"}}
            return self.send(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, Mcp_Session_Id=name)
        if session and "method" not in message:
            session["answers"][message["id"]].put(message.get("result"))
            return self.send(202)
        if "id" not in message:
            return self.send(202)
        if session and message["method"] == "tools/call":
            return self.stream(instance, session, message, user)
        self.send(200, answer_to(instance, message, user))

    def stream(self, instance, session, message, user):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

        def event(value):
            self.wfile.write(b"data: " + json.dumps({"jsonrpc": "2.0", **value}).encode() + b"\n\n")
            self.wfile.flush()

        def ask(params):
            name = secrets.token_hex(4)
            session["answers"][name] = queue.Queue()
            event({"id": name, "method": "elicitation/create", "params": params})
            return session["answers"][name].get(timeout=60)

        try:
            event({"id": message["id"], "result": instance.legacy_call(session, Call(message["params"], user), ask)})
        except Refusal as refusal:
            event({"id": message["id"], "error": refusal.error})
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 256

    def handle_error(self, *_):
        pass  # a handler that raises hangs up, as many servers do


def main():
    global STDIO
    if sys.argv[1:2] == ["--stdio"]:
        STDIO = True
        instance = instance_of(*sys.argv[2:4], os.environ.get("STATE_KEY", "unset"), "main")
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message:
                print(json.dumps(answer_to(instance, message, None)), flush=True)
        return
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


main()
