// The part that all JavaScript drivers share: the command line, the questions'
// answers and the JSON lines. README.md, beside this folder, has the contract.
import { createInterface } from 'node:readline';

// commandLine reads `--era ERA` and then either `--url URL` or `--stdio COMMAND
// ARG...`, which takes the rest of the line.
export function commandLine(argv = process.argv.slice(2)) {
  const [eraFlag, era, target, ...rest] = argv;
  if (eraFlag !== '--era' || !['auto', 'legacy', 'modern'].includes(era) || rest.length === 0) {
    throw new Error('usage: --era auto|legacy|modern (--url URL | --stdio COMMAND [ARG...])');
  }
  if (target === '--url') return { era, url: new URL(rest[0]) };
  if (target === '--stdio') return { era, command: rest[0], args: rest.slice(1) };
  throw new Error(`unknown target ${target}`);
}

// User answers a cell's questions and remembers what was asked. A question is
// known by the properties of its schema, since the wire of the older revisions
// carries no key.
export class User {
  constructor({ answers = {}, decline = '' }) {
    this.answers = answers;
    this.decline = decline;
    this.elicitations = [];
  }

  answer({ message, requestedSchema }) {
    const properties = Object.keys(requestedSchema?.properties ?? {});
    this.elicitations.push({ message, properties });
    if (properties.includes(this.decline)) return { action: 'decline' };
    return {
      action: 'accept',
      content: Object.fromEntries(properties.map((name) => [name, this.answers[name]])),
    };
  }
}

// blocksOf gives the content of a tool's result, of a prompt's or of a resource's.
const blocksOf = ({ content, messages, contents }) =>
  content ??
  messages?.map((message) => message.content) ??
  contents?.filter((part) => part.text !== undefined).map((part) => ({ type: 'text', text: part.text })) ??
  [];

export const textOf = (content = []) =>
  content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n');

// run connects, says so on one line, and answers each cell that comes in on
// stdin with one line. connect returns {call, close}; call(cell, user)
// returns a CallToolResult.
export async function run(connect) {
  const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  let peer;
  try {
    peer = await connect(commandLine());
  } catch (error) {
    print({ error: `connect: ${describe(error)}` });
    process.exitCode = 1;
    return;
  }
  print({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const cell = JSON.parse(line);
    const user = new User(cell);
    try {
      const result = await peer.call(cell, user);
      print({
        text: textOf(blocksOf(result)),
        structured: result.structuredContent,
        isError: result.isError ?? false,
        status: result.status,
        elicitations: user.elicitations,
      });
    } catch (error) {
      print({ error: describe(error), elicitations: user.elicitations });
    }
  }
  await peer.close();
}

const describe = (error) => [error?.code, error?.message ?? String(error)].filter((part) => part !== undefined).join(' ');
