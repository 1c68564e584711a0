import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from '../driver.mjs';

function transportTo({ url, command, args }) {
  if (command) return new StdioClientTransport({ command, args, stderr: 'inherit' });
  if (url.protocol === 'ws:') return new WebSocketClientTransport(url);
  return new StreamableHTTPClientTransport(url);
}

await run(async (target) => {
  if (target.era !== 'legacy') throw new Error(`this client speaks no ${target.era} era`);
  const client = new Client(
    { name: 'interop-typescript-v1', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } } },
  );
  let user;
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => user.answer(params));
  await client.connect(transportTo(target));
  await client.listTools();
  return {
    call: (cell, person) => {
      user = person;
      if (cell.prompt) return client.getPrompt({ name: cell.prompt });
      if (cell.resource) return client.readResource({ uri: cell.resource });
      return client.callTool({ name: cell.tool, arguments: { location: cell.location } });
    },
    close: () => client.close(),
  };
});
