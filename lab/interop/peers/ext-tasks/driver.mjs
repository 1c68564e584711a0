// Calls a tool as a task, with the requester of the extension on the TypeScript client. The
// requester leaves the sending of what the client's schemas do not know to its host: send.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { run } from '../driver.mjs';

const protocolVersion = '2026-07-28';
const clientInfo = { name: 'interop-ext-tasks', version: '1.0.0' };
const clientCapabilities = { elicitation: { form: {} } };

let id = 0;

async function send(url, { method, params }, { signal } = {}) {
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Protocol-Version': protocolVersion,
      'Mcp-Method': method,
      'Mcp-Name': params.taskId ?? params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
  });
  const lines = (await response.text()).split('\n');
  const message = JSON.parse(lines.find((line) => line.startsWith('data: '))?.slice('data: '.length) ?? lines.join('\n'));
  return message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result };
}

await run(async ({ url }) => {
  const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: protocolVersion } } });
  await client.connect(new StreamableHTTPClientTransport(url));
  await client.listTools();
  const open = (onInputRequest) =>
    createTaskSessionFromClient(client, {
      endpointId: 'interop',
      rawDispatch: (request, options) => send(url, request, options),
      v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
      onInputRequest,
    });

  // leave begins a call, and lets go of it when it asks. The reference finds it again.
  async function leave(cell) {
    const asked = Promise.withResolvers();
    const session = open((_, { signal }) => {
      asked.resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const execution = await session.callTool(cell.tool, { to: cell.location });
    const left = execution.settle({ close: false }).catch(() => {}); // which would cancel it
    await asked.promise;
    let reference;
    await execution.handoff((it) => (reference = it));
    await left;
    await session.close();
    return reference;
  }

  return {
    async call(cell, user) {
      const reference = cell.then === 'resume' ? await leave(cell) : undefined;
      let execution;
      const session = open(async ({ params }) => {
        const answer = user.answer(params);
        if (cell.then === 'cancel') await execution.cancel();
        return answer;
      });
      execution = reference ? await session.resumeTask(reference) : await session.callTool(cell.tool, { to: cell.location });
      let { outcome } = await execution.settle();
      if (cell.then === 'cancel') outcome = await session.task(execution.handle.taskId).result(); // settle goes by the acknowledgement
      await session.close();
      if (outcome.status === 'failed') throw outcome.error;
      return { ...outcome.result, status: `${execution.kind} ${outcome.status}` };
    },
    close: () => client.close(),
  };
});
