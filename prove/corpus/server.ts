// A deployer on node:http that asks before it deploys. It has the paths of server.py: see there.

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

type Json = any;
type Design = {
    codec?: 'gcm' | 'json' | 'query' | 'map' | 'none';
    rounds?: Step[][];
    remembers?: boolean; // the result of a call that has ended
    status?: boolean; // a bad state is an HTTP status
    stream?: boolean; // responses are event streams
    invalid?: 'again' | 'error';
    unasked?: 'error' | 'completes';
};
type Step = 'target' | 'approve' | 'notes' | 'visit' | 'regions';

const designs: Record<string, Design> = {
    gcm: {},
    json: { codec: 'json' },
    query: { codec: 'query' },
    map: { codec: 'map', remembers: true },
    remembering: { remembers: true },
    together: { rounds: [['target', 'approve']] },
    single: { codec: 'json', rounds: [['approve']] },
    long: { rounds: [['target'], ['regions'], ['approve']] },
    sampling: { rounds: [['notes', 'target'], ['approve']] },
    visiting: { rounds: [['target'], ['visit']] },
    status: { status: true },
    streaming: { stream: true, codec: 'query' },
    ending: { invalid: 'error' },
    planning: { unasked: 'completes' }
};

const forms: Partial<Record<Step, Json>> = {
    target: {
        required: ['environment', 'replicas'],
        properties: {
            environment: { type: 'string', oneOf: [{ const: 'staging', title: 'Staging' }, { const: 'live', title: 'Live' }] },
            replicas: { type: 'number', minimum: 1, maximum: 9 },
            notify: { type: 'string', format: 'email' }
        }
    },
    regions: {
        required: ['regions'],
        properties: { regions: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['eu', 'us', 'asia'] } } }
    },
    approve: { required: ['approve'], properties: { approve: { type: 'string', enum: ['no', 'yes'] } } }
};
const messages: Record<Step, string> = { target: 'Where to?', regions: 'Which regions?', approve: 'Deploy it?', notes: '', visit: 'Please sign in.' };
const choices = { staging: 1, live: 1, no: 1, yes: 1 };
const defaults: Json = { environment: 'staging', replicas: 1, regions: ['eu'], approve: 'yes' };

class Refusal extends Error {
    code: number;
    data: Json;
    constructor(code: number, message: string, data?: Json) {
        super(message);
        this.code = code;
        this.data = data;
    }
}
class Invalid extends Error {}

const sleep = (ms: number) => new Promise(done => setTimeout(done, ms));

class Deployment {
    effects: Record<string, number> = {};
    ended = new Map<string, Json>();
    running = new Map<string, Promise<Json>>();
    offset = 0;
}

type Call = { name: any; args: any; state: any; responses: any; user: string | undefined; caps: Json };

class Instance {
    design: Design;
    mistake: string;
    key: Buffer;
    shared: Deployment;
    handles = new Map<string, Json>();
    pending: Json; // of the call that came last, where that is the mistake
    declared = new Set<string>();

    constructor(design: string, mistake: string, secret: string, shared: Deployment) {
        this.design = designs[design];
        this.mistake = mistake;
        this.key = createHash('sha256').update(this.has('same-key') ? 'fixed' : secret).digest();
        this.shared = shared;
    }

    has(...mistakes: string[]) {
        return mistakes.includes(this.mistake);
    }

    // The state.

    mac(text: string): string {
        if (this.has('hash-only')) {
            return createHash('sha256').update(text).digest('hex');
        }
        return createHmac('sha256', this.has('example-key') ? 'change-me' : this.key).update(text).digest('hex');
    }

    seal(claims: Json): string {
        claims = { ...claims, until: this.now() + 600_000, salt: randomBytes(4).toString('hex') };
        const text = JSON.stringify(claims);
        switch (this.design.codec) {
            case 'json':
                return JSON.stringify({ claims: text, sig: this.mac(this.has('signs-id') ? claims.id : text) });
            case 'query': {
                const query = new URLSearchParams(Object.entries(claims).map(([k, v]) => [k, typeof v === 'string' ? v : JSON.stringify(v)])).toString();
                return query + '&sig=' + this.mac(query);
            }
            case 'map': {
                const handle = randomUUID();
                this.handles.set(handle, claims);
                return handle;
            }
        }
        const iv = randomBytes(this.has('ctr') ? 16 : 12);
        const cipher: any = createCipheriv(this.has('ctr') ? 'aes-256-ctr' : 'aes-256-gcm', this.key, iv);
        const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]);
        return (this.has('ctr') ? sealed : Buffer.concat([sealed, cipher.getAuthTag()])).toString('base64url');
    }

    open(state: any): Json {
        try {
            if (typeof state !== 'string') {
                throw new Error('no text');
            }
            return this.opened(state);
        } catch {
            throw new Refusal(this.has('blames-itself') ? -32603 : -32602, 'Invalid requestState');
        }
    }

    opened(state: string): Json {
        const same = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
        switch (this.design.codec) {
            case 'json': {
                const { claims, sig } = JSON.parse(state);
                const parsed = JSON.parse(claims);
                const want = this.mac(this.has('signs-id') ? parsed.id : claims);
                const good = this.has('sig-optional') && sig === undefined || this.has('sig-prefix') && want.startsWith(sig) || same(want, sig);
                if (!good && !this.has('unverified') || state !== JSON.stringify({ claims, sig }) && !this.has('sig-optional', 'sig-prefix', 'unverified')) {
                    throw new Error('signature');
                }
                return parsed;
            }
            case 'query': {
                const at = this.has('pollution') ? state.indexOf('&sig=') : state.lastIndexOf('&sig=');
                const signed = state.slice(0, at);
                const sig = this.has('pollution') ? state.slice(at + 5, at + 69) : state.slice(at + 5);
                if (!this.has('unverified') && !same(this.mac(signed), sig)) {
                    throw new Error('signature');
                }
                const claims: Json = {};
                for (const [name, value] of new URLSearchParams(this.has('pollution') ? state : signed)) {
                    claims[name] = name === 'sig' ? undefined : ['args', 'given', 'until', 'round', 'tries'].includes(name) ? JSON.parse(value) : value;
                }
                delete claims.sig;
                return claims;
            }
            case 'map':
                return structuredClone(this.handles.get(state)) ?? (() => { throw new Error('unknown'); })();
        }
        const raw = Buffer.from(state, 'base64url');
        if (raw.toString('base64url') !== state && !this.has('ctr', 'unverified')) {
            throw new Error('spelling');
        }
        if (this.has('ctr')) {
            const decipher = createDecipheriv('aes-256-ctr', this.key, raw.subarray(0, 16));
            return JSON.parse(decipher.update(raw.subarray(16)).toString('utf8'));
        }
        const decipher = createDecipheriv('aes-256-gcm', this.key, raw.subarray(0, 12));
        decipher.setAuthTag(raw.subarray(-16));
        const text = decipher.update(raw.subarray(12, -16)).toString('utf8');
        if (!this.has('unverified')) {
            decipher.final();
        }
        return JSON.parse(text);
    }

    check(claims: Json, call: Call) {
        const bound = JSON.stringify(claims.args) === JSON.stringify(call.args);
        const late = claims.until < this.now() && !this.has('no-expiry');
        const stolen = claims.user !== (call.user ?? '') && !this.has('no-user');
        if (late || stolen || (!bound && !this.has('no-args')) || (claims.tool !== call.name && !this.has('no-tool'))) {
            throw new Refusal(-32602, 'Invalid requestState');
        }
    }

    now() {
        return Date.now() + this.shared.offset;
    }

    // The call.

    get rounds(): Step[][] {
        return this.design.rounds ?? [['target'], ['approve']];
    }

    async call(call: Call): Promise<Json> {
        if (call.name !== 'deploy' && call.name !== 'rollback') {
            throw new Refusal(-32602, `Unknown tool`);
        }
        const { args } = call;
        if (!this.has('unchecked-arguments') && (typeof args !== 'object' || args === null || Array.isArray(args) || typeof args.service !== 'string' || !args.service)) {
            throw new Refusal(-32602, 'Invalid arguments');
        }
        if (call.responses !== undefined && (typeof call.responses !== 'object' || Array.isArray(call.responses) || call.responses === null)) {
            throw new Refusal(-32602, 'Invalid inputResponses');
        }
        if (call.state === undefined || call.state === '') {
            const claims = { tool: call.name, args, user: call.user ?? '', id: randomUUID(), round: 0, tries: 0, given: {} };
            if (this.has('pays-first')) {
                this.effect();
            }
            if (call.responses && this.has('unasked-answers')) {
                return this.go(claims, call);
            }
            return this.ask(claims, call);
        }
        if (this.has('leaks-result') && this.shared.ended.has(call.state)) {
            return this.shared.ended.get(call.state);
        }
        const claims = this.open(call.state);
        this.check(claims, call);
        if (this.has('pending')) {
            claims.given = this.pending ?? claims.given;
        }
        if (!this.design.remembers) {
            return this.go(claims, call);
        }
        const { ended, running } = this.shared;
        if (this.has('gap')) {
            if (ended.has(claims.id)) {
                return ended.get(claims.id);
            }
            await sleep(5);
        }
        if (ended.has(claims.id) && !this.has('gap', 'forgets')) {
            return ended.get(claims.id);
        }
        if (running.has(claims.id) && !this.has('gap', 'forgets')) {
            return running.get(claims.id);
        }
        const result = this.go(claims, call).then(result => {
            if (result.resultType === 'complete') {
                ended.set(claims.id, result);
                ended.set(call.state, result);
            }
            return result;
        });
        running.set(claims.id, result);
        return result.finally(() => running.delete(claims.id));
    }

    needs(step: Step, caps: Json): Json {
        const has = (o: Json, ...names: string[]) => names.reduce((at, name) => at?.[name], o) !== undefined;
        if (step === 'notes') {
            return has(caps, 'sampling') || this.has('samples-anyway') ? undefined : { sampling: {} };
        }
        if (step === 'visit') {
            return has(caps, 'elicitation', 'url') || this.has('visits-anyway') && has(caps, 'elicitation') ? undefined : { elicitation: { url: {} } };
        }
        const empty = has(caps, 'elicitation') && Object.keys(caps.elicitation).length === 0;
        return has(caps, 'elicitation', 'form') || empty ? undefined : { elicitation: { form: {} } };
    }

    ask(claims: Json, call: Call, again = false): Json {
        const steps = this.rounds[claims.round];
        const lacks = steps.map(step => this.needs(step, call.caps)).find(lack => lack !== undefined);
        if (!lacks) {
            this.declared.add(call.user ?? '');
        }
        const trusted = this.has('asks-anybody') || this.has('sticky') && this.declared.has(call.user ?? '') && claims.round + claims.tries + Number(again) > 0;
        if (lacks && !trusted) {
            if (this.has('unasked-deploys')) {
                return this.deploy(claims);
            }
            if (this.design.unasked === 'completes') {
                return this.text('Planned. Nobody could be asked, and nothing was deployed.');
            }
            if (this.has('error-result')) {
                return this.text('This client cannot be asked.', true);
            }
            throw new Refusal(-32021, 'Missing capability', { requiredCapabilities: this.has('names-nothing') ? {} : lacks });
        }
        claims = { ...claims, tries: again ? claims.tries + 1 : 0 };
        if (claims.tries > 3) {
            return this.text('Nobody answered.', true);
        }
        return {
            resultType: 'input_required',
            inputRequests: Object.fromEntries(steps.map(step => [step, this.question(step, claims)])),
            requestState: this.seal(claims)
        };
    }

    question(step: Step, claims: Json): Json {
        if (step === 'notes') {
            const prompt = { role: 'user', content: { type: 'text', text: `Write release notes of ${claims.args.service}.` } };
            return { method: 'sampling/createMessage', params: { messages: [prompt], maxTokens: 100 } };
        }
        if (step === 'visit') {
            return { method: 'elicitation/create', params: { mode: 'url', message: messages.visit, url: 'https://deploy.example/sign-in', elicitationId: claims.id } };
        }
        return { method: 'elicitation/create', params: { mode: 'form', message: messages[step], requestedSchema: { type: 'object', ...forms[step] } } };
    }

    async go(claims: Json, call: Call): Promise<Json> {
        if (this.has('deploys-each-round')) {
            this.effect();
        }
        const responses = call.responses ?? {};
        const given = { ...claims.given };
        try {
            for (const step of this.rounds[claims.round]) {
                const answer = this.answer(step, responses);
                if (answer === undefined) {
                    return this.ask(claims, call, true);
                }
                if (answer === null) {
                    return this.text('Nothing was deployed.');
                }
                Object.assign(given, answer);
            }
        } catch (e) {
            if (!(e instanceof Invalid)) {
                throw e;
            }
            if (this.has('again-deploys')) {
                this.effect();
            }
            return this.design.invalid === 'error' ? this.text(e.message, true) : this.ask(claims, call, true);
        }
        if (this.has('stale-wins')) {
            for (const response of Object.values(responses) as Json[]) {
                Object.assign(given, response?.content);
            }
        }
        this.pending = given;
        const next = { ...claims, given, round: claims.round + 1 };
        while (this.has('mass-assignment') && next.round < this.rounds.length && this.rounds[next.round].every(step => step in given || forms[step]?.required[0] in given)) {
            next.round++;
        }
        if (next.round < this.rounds.length) {
            return this.ask(next, call);
        }
        if (given.approve !== undefined && (this.has('loose-yes') ? given.approve === 'never' : given.approve !== 'yes')) {
            return this.text('Nothing was deployed.');
        }
        if (this.has('awaits-global')) {
            this.pending = given;
            await sleep(3);
            next.given = this.pending;
        }
        return this.deploy(next);
    }

    /** The values of an answer; undefined where there is none, and null where it is a no. */
    answer(step: Step, responses: Json): Json {
        let response = responses[step];
        if (this.has('any-key')) {
            response = response ?? Object.values(responses)[0];
        }
        if (this.has('prototype')) {
            response = response ?? responses['__proto__']?.[step];
        }
        if (response === undefined) {
            return undefined;
        }
        if (typeof response !== 'object' || response === null || Array.isArray(response)) {
            if (this.has('scalar')) {
                return defaults;
            }
            throw new Invalid('Not understood.');
        }
        if (step === 'notes') {
            if (typeof response.content?.text !== 'string' && !this.has('other-kind')) {
                throw new Invalid('Not understood.');
            }
            return { notes: response.content?.text ?? 'none' };
        }
        const stops = this.has('only-decline') ? ['decline'] : this.has('only-cancel') ? ['cancel'] : this.has('visit-anyway') && step === 'visit' ? [] : ['decline', 'cancel'];
        if (stops.includes(response.action)) {
            return this.has('stops-late') ? { ...defaults } : null;
        }
        if (response.action !== 'accept' && !this.has('any-action', 'visit-anyway', 'only-decline', 'only-cancel')) {
            throw new Invalid('Not understood.');
        }
        if (step === 'visit') {
            return { visited: true };
        }
        let content = response.content ?? (this.has('no-content', 'only-decline', 'only-cancel') ? defaults : undefined);
        if (typeof content !== 'object' || content === null) {
            throw new Invalid('Not understood.');
        }
        const values: Json = this.has('mass-assignment') ? { ...content } : {};
        for (const [name, schema] of Object.entries<Json>(forms[step].properties)) {
            const value = this.fitting(schema, content[name]);
            if (value === undefined && forms[step].required.includes(name)) {
                throw new Invalid(`Missing ${name}.`);
            }
            values[name] = value;
        }
        return values;
    }

    fitting(schema: Json, value: any): any {
        if (value === undefined) {
            return undefined;
        }
        const offered: string[] | undefined = schema.enum ?? schema.oneOf?.map((one: Json) => one.const);
        switch (schema.type) {
            case 'number': {
                const n = this.has('number-of') ? Number(value) : value;
                const within = this.has('nan') ? !(Number(n) < schema.minimum) && !(Number(n) > schema.maximum) : n >= schema.minimum && n <= schema.maximum;
                if (!(within || this.has('unbounded')) || typeof n !== 'number' && !this.has('nan')) {
                    throw new Invalid('Out of bounds.');
                }
                return n;
            }
            case 'array':
                if (!Array.isArray(value) || !value.every(v => schema.items.enum.includes(v))) {
                    throw new Invalid('None of the choices.');
                }
                if ((value.length < schema.minItems || value.length > schema.maxItems) && !this.has('any-length')) {
                    throw new Invalid('Too few, or too many.');
                }
                return value;
        }
        if (this.has('loose-equal') && offered) {
            if (!offered.some(choice => choice == value)) {
                throw new Invalid('None of the choices.');
            }
            return String(value);
        }
        if (typeof value !== 'string') {
            throw new Invalid('Another type.');
        }
        const chosen = !offered || offered.includes(value) || this.has('in-table') && value in choices || this.has('any-choice');
        if (!chosen && !(this.has('loose-yes') && offered.includes('yes'))) {
            throw new Invalid('None of the choices.');
        }
        if (schema.format === 'email' && !value.includes('@') && !this.has('any-format')) {
            throw new Invalid('No address.');
        }
        return value;
    }

    deploy(claims: Json): Json {
        this.effect();
        const { environment = 'staging', replicas = 1, regions = ['eu'], notes = '' } = claims.given;
        return this.text(`Deployed ${claims.args.service} to ${environment} (${regions}) on ${replicas}${notes && ', with notes'}. Build ${randomBytes(3).toString('hex')}.`);
    }

    text(text: string, isError = false): Json {
        return { resultType: 'complete', content: [{ type: 'text', text }], ...(isError ? { isError } : {}) };
    }

    effect() {
        this.shared.effects.deploy = (this.shared.effects.deploy ?? 0) + 1;
    }
}

const inputSchema = { type: 'object', properties: { service: { type: 'string', minLength: 1 } }, required: ['service'] };
const deployments = new Map<string, Deployment>();
const instances = new Map<string, Instance>();

function instanceOf(path: string): [Instance, string] {
    const [design, mistake, secret, name, what] = path.slice(1).split('/');
    const shared = [design, mistake, secret].join('/');
    deployments.set(shared, deployments.get(shared) ?? new Deployment());
    const key = shared + '/' + name;
    instances.set(key, instances.get(key) ?? new Instance(design, mistake, secret, deployments.get(shared)!));
    return [instances.get(key)!, what];
}

async function serve(request: IncomingMessage, response: ServerResponse) {
    const [instance, what] = instanceOf(request.url!);
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
        chunks.push(chunk);
    }
    const body = Buffer.concat(chunks);
    const send = (status: number, value?: Json) => response.writeHead(status, { 'content-type': 'application/json' }).end(value && JSON.stringify(value));
    if (what === 'effects') {
        return send(200, instance.shared.effects);
    }
    if (what === 'expire') {
        instance.shared.offset += 3_600_000;
        return send(200, {});
    }
    if (instance.design.status && body.length > 100_000) {
        return response.writeHead(413).end();
    }
    const message = JSON.parse(body.toString());
    if (message.id === undefined) {
        return response.writeHead(202).end();
    }
    const reply: Json = { jsonrpc: '2.0', id: message.id };
    const params = message.params ?? {};
    try {
        if (message.method === 'tools/list') {
            reply.result = { resultType: 'complete', tools: ['deploy', 'rollback'].map(name => ({ name, inputSchema })), ttlMs: 0, cacheScope: 'private' };
        } else if (message.method === 'tools/call') {
            const user = request.headers.authorization?.replace('Bearer ', '');
            const caps = params._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
            reply.result = await instance.call({ name: params.name, args: params.arguments ?? {}, state: params.requestState, responses: params.inputResponses, user, caps });
        } else {
            throw new Refusal(-32601, 'Unknown method');
        }
    } catch (e) {
        if (!(e instanceof Refusal)) {
            return response.destroy();
        }
        reply.error = { code: e.code, message: e.message, data: e.data };
    }
    if (instance.design.stream) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'working' } })}\n\n`);
        return response.end(`data: ${JSON.stringify(reply)}\n\n`);
    }
    send(reply.error && instance.design.status ? 400 : 200, reply);
}

const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
server.listen(0, '127.0.0.1', () => console.log((server.address() as any).port));
process.stdin.on('end', () => process.exit(0)).resume();
