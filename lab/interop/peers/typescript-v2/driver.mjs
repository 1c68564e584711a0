import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { run } from '../driver.mjs';

const modes = { auto: 'auto', legacy: 'legacy', modern: { pin: '2026-07-28' } };

await run(async ({ era, url, command, args }) => {
  const client = new Client(
    { name: 'interop-typescript-v2', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: modes[era] } },
  );
  let user;
  client.setRequestHandler('elicitation/create', ({ params }) => user.answer(params));
  await client.connect(
    url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args, stderr: 'inherit' }),
  );
  await client.listTools();
  return {
    call: (cell, person) => {
      user = person;
      if (cell.prompt) return client.getPrompt({ name: cell.prompt });
      if (cell.resource) return client.readResource({ uri: cell.resource });
      return client.callTool({ name: cell.tool, arguments: cell.arguments ?? { location: cell.location } });
    },
    close: () => client.close(),
  };
});
