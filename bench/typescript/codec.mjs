// Seals and opens a state with the TypeScript SDK's own codec. A number on
// stdin is how many times; a line on stdout says that it was done.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { createRequestStateCodec } from '@modelcontextprotocol/server';

const state = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const request = { principal: 'user-1', target: 'weather_once' };
const codec = createRequestStateCodec({
  key: randomBytes(32),
  ttlSeconds: 3600,
  bind: ({ principal, target }) => `${principal} ${target}`,
});

const roundTrip = async () => codec.verify(await codec.mint(state, request), request);

if (!isDeepStrictEqual(await roundTrip(), state)) throw new Error('another state came back');
for (let i = 0; i < 3000; i++) await roundTrip(); // until it is compiled
console.log('ready');

for await (const line of createInterface({ input: process.stdin })) {
  const times = Number(line);
  for (let i = 0; i < times; i++) await roundTrip();
  console.log(`done ${times}`);
}
