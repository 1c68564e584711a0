// Seals and opens a state with the TypeScript SDK's own codec. The state is the
// argument.
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { createRequestStateCodec } from '@modelcontextprotocol/server';
import { converse } from './converse.mjs';

const state = JSON.parse(process.argv[2]);
const request = { principal: 'user-1', target: 'weather' };
const codec = createRequestStateCodec({
  key: randomBytes(32),
  ttlSeconds: 3600,
  bind: ({ principal, target }) => `${principal} ${target}`,
});

const roundTrip = async () => codec.verify(await codec.mint(state, request), request);

if (!isDeepStrictEqual(await roundTrip(), state)) throw new Error('another state came back');
await converse('-', roundTrip);
