// Programs of a LangGraph agent whose node calls a tool that asks. The node interrupts its graph in
// the client's elicitation handler, as the MCP adapters do, so each resume plays the whole call again
// from its first request.
//
//   node driver.mjs PROGRAM URL
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt, isGraphInterrupt } from '@langchain/langgraph';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [program, url] = process.argv.slice(2);

// agent is a graph with one node. It crashes when its call has ended, as often as it is told to.
function agent({ key, crashes = 0 } = {}) {
  const stay = async () => {
    const headers = { Authorization: 'Bearer ann', ...(key && { 'Idempotency-Key': key }) };
    const client = new Client(
      { name: 'interop-langgraph', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    let interrupted;
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const [property] = Object.keys(params.requestedSchema.properties);
      try {
        return { action: 'accept', content: { [property]: interrupt(property) } };
      } catch (error) {
        interrupted = error;
        throw error;
      }
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    try {
      const { isError, content, structuredContent } = await client.callTool({ name: 'stay', arguments: { dates: '' } });
      if (isError) throw new Error(content.map(({ text }) => text).join('\n'));
      if (crashes-- > 0) throw new Error('crashed');
      return { receipt: structuredContent.receipt };
    } catch (error) {
      throw isGraphInterrupt(interrupted) ? interrupted : error;
    } finally {
      await client.close();
    }
  };
  return new StateGraph(Annotation.Root({ receipt: Annotation() }))
    .addNode('stay', stay)
    .addEdge(START, 'stay')
    .compile({ checkpointer: new MemorySaver() });
}

let threads = 0;
const thread = () => ({ configurable: { thread_id: String(threads++) } });

const asks = (state, property) => {
  const asked = state.__interrupt__?.map(({ value }) => value);
  if (String(asked) !== property) throw new Error(`asked ${asked} instead of ${property}`);
};

async function begin(graph, config) {
  asks(await graph.invoke({}, config), 'room');
}

async function room(graph, config, resume = 'double') {
  asks(await graph.invoke(new Command({ resume }), config), 'sure');
}

async function sure(graph, config) {
  const { receipt } = await graph.invoke(new Command({ resume: 'yes' }), config);
  if (!receipt) throw new Error('no receipt');
  return receipt;
}

async function book(graph, config = thread()) {
  await begin(graph, config);
  await room(graph, config);
  return sure(graph, config);
}

const programs = {
  once: async () => [await book(agent())],
  again: async () => {
    const graph = agent();
    return [await book(graph), await book(graph)];
  },
  parallel: async () => {
    const graph = agent();
    return Promise.all([book(graph), book(graph)]);
  },
  corrected: async () => {
    const graph = agent();
    const config = thread();
    await begin(graph, config);
    const { config: asked } = await graph.getState(config);
    await room(graph, config);
    const fork = await graph.updateState(asked, {}, START);
    asks(await graph.invoke(null, fork), 'room');
    await room(graph, config, 'single');
    return [await sure(graph, config)];
  },
  crash: async () => {
    const graph = agent({ key: 'the key of one intent', crashes: 1 });
    const config = thread();
    await begin(graph, config);
    await room(graph, config);
    await sure(graph, config).then(
      () => {
        throw new Error('it did not crash');
      },
      (error) => {
        if (error.message !== 'crashed') throw error;
      },
    );
    const { receipt } = await graph.invoke(null, config);
    return [receipt];
  },
};

console.log(JSON.stringify(await programs[program]()));
