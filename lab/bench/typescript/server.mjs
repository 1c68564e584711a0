// Serves the weather with the TypeScript SDK, behind its own front for Node,
// written by hand and without protection. The SDK wants a server of its own for each
// request; what can be made once is.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';

const unitsSchema = {
  type: 'object',
  properties: { units: { type: 'string', enum: ['metric', 'imperial'] } },
  required: ['units'],
};
const inputSchema = fromJsonSchema({
  type: 'object',
  properties: { location: { type: 'string', description: 'the name of a place' } },
  required: ['location'],
  additionalProperties: false,
});
const outputSchema = fromJsonSchema({
  type: 'object',
  properties: {
    location: { type: 'string' },
    temperature: { type: 'integer' },
    unit: { type: 'string' },
    conditions: { type: 'string' },
  },
  required: ['location', 'temperature', 'unit', 'conditions'],
  additionalProperties: false,
});

const places = new Map([['lisbon', { name: 'Lisbon', celsius: 22, fahrenheit: 72, conditions: 'partly cloudy' }]]);

async function weather({ location }, ctx) {
  const place = places.get(location.toLowerCase());
  if (!place) throw new Error(`no place ${location}`);
  const answer = acceptedContent(ctx.mcpReq.inputResponses, 'units');
  if (!answer) {
    return inputRequired({
      inputRequests: { units: inputRequired.elicit({ message: 'Which units?', requestedSchema: unitsSchema }) },
      requestState: place.name,
    });
  }
  if (!unitsSchema.properties.units.enum.includes(answer.units)) throw new Error('not units');
  const [temperature, unit] = answer.units === 'metric' ? [place.celsius, 'C'] : [place.fahrenheit, 'F'];
  const report = { location: place.name, temperature, unit, conditions: place.conditions };
  const text = `Weather in ${report.location}: ${temperature}°${unit}, ${report.conditions}.`;
  return { content: [{ type: 'text', text }], structuredContent: report };
}

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'server', version: '1' });
  server.registerTool('weather', { inputSchema, outputSchema }, weather);
  return server;
});
const server = createServer(toNodeHandler(handler));
server.keepAliveTimeout = 0; // clients that wait for their turn keep their connection
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
