// Inspector's client is a command: each step is one run of it against a daemon
// of its own, which holds the connection and parks a call that asks.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { run } from '../driver.mjs';

const packageFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json');
const { bin } = createRequire(import.meta.url)(packageFile);
const program = join(dirname(packageFile), bin.mcpdo);

await run(async ({ era, url, command, args }) => {
  const home = await mkdtemp(join(tmpdir(), 'mcpdo-'));
  const env = {
    ...process.env,
    HOME: home,
    NODE_COMPILE_CACHE: join(home, 'compiled'),
    MCP_INSPECTOR_DAEMON_DIR: home,
    MCP_INSPECTOR_SECRET_STORE: 'file',
  };
  const mcpdo = async (...words) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, '--format', 'json', '--connection', 'peer', ...words],
      { env, timeout: 30_000 },
    ).catch((error) => {
      if (error.stdout?.trim()) return error;
      // On a busy machine the command gives its daemon up before it has sent it anything.
      if (/request 'ping' timed out/.test(error.stderr)) return { stdout: null };
      throw new Error(`mcpdo ${words[0]}: ${error.stderr || error.message}`);
    });
    return stdout === null ? mcpdo(...words) : JSON.parse(stdout);
  };
  const close = async () => {
    await promisify(execFile)(process.execPath, [program, 'daemon', 'stop'], { env });
    // The daemon answers before it is gone, so its last files may still come.
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  process.once('SIGTERM', () => close().finally(() => process.exit(1)));
  try {
    await mcpdo('connect', '--era', era, ...(url ? [url.href] : ['--', command, ...args]));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    call: async (cell, user) => {
      let reply = await mcpdo('tools/call', cell.tool, JSON.stringify({ location: cell.location }));
      while (reply.elicitationPending) {
        const { elicitationId } = reply.elicitationPending;
        const { action, content } = user.answer(reply.elicitationPending);
        reply = await mcpdo(
          'elicitation/respond',
          elicitationId,
          action === 'accept' ? JSON.stringify(content) : `--${action}`,
        );
      }
      return reply;
    },
    close,
  };
});
