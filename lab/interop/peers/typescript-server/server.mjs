// A server of a tool that asks twice, on the TypeScript SDK, with its state sealed by the
// SDK's codec as its documentation shows. Each connection to the port that it prints is
// served as one over stdio. It writes a line on stderr for each effect.
import { createServer } from 'node:net';
import { McpServer, acceptedContent, createRequestStateCodec, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

const codec = createRequestStateCodec({ key: process.env.STATE_KEY, ttlSeconds: Number(process.env.STATE_TTL ?? 600) });

const choice = (key, choices) =>
    fromJsonSchema({ type: 'object', properties: { [key]: { type: 'string', enum: choices } }, required: [key] });
const forms = {
    place: choice('place', ['Springfield, Illinois', 'Springfield, Missouri']),
    units: choice('units', ['metric', 'imperial'])
};
const input = fromJsonSchema({ type: 'object', properties: { location: { type: 'string' } }, required: ['location'] });

const answer = (context, key) => acceptedContent(context.mcpReq.inputResponses, key, forms[key])?.[key];
const refused = (context, key) => ['decline', 'cancel'].includes(context.mcpReq.inputResponses?.[key]?.action);

async function weather({ location }, context) {
    if (refused(context, 'place') || refused(context, 'units')) {
        return { isError: true, content: [{ type: 'text', text: 'Not without an answer.' }] };
    }
    let place = context.mcpReq.requestState();
    if (place === undefined) {
        place = answer(context, 'place');
        if (place === undefined) {
            return ask('place', `Which ${location}?`);
        }
    }
    const units = answer(context, 'units');
    if (units === undefined) {
        return ask('units', 'Which units?', place);
    }
    console.error('audit');
    return { content: [{ type: 'text', text: `Weather of ${location} in ${place}, ${units}.` }] };
}

async function ask(key, message, state) {
    const result = { inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema: forms[key] }) } };
    if (state !== undefined) {
        result.requestState = await codec.mint(state);
    }
    return inputRequired(result);
}

function build() {
    const options = { capabilities: { tools: {} }, requestState: { verify: codec.verify } };
    const server = new McpServer({ name: 'weather', version: '1.0.0' }, options);
    for (const name of ['weather', 'weather_again']) {
        server.registerTool(name, { inputSchema: input }, weather);
    }
    return server;
}

const listener = createServer(socket => {
    socket.on('error', () => {});
    serveStdio(build, { transport: new StdioServerTransport(socket, socket), onerror: () => {} });
});
listener.listen(0, '127.0.0.1', () => console.log(listener.address().port));
