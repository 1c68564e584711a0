// The client as an application has it that knows the URL of a server and no more: it logs its
// user in where the server says, and again for the scope that a tool needs. The user says yes.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { run } from '../driver.mjs';

const modes = { legacy: 'legacy', modern: { pin: '2026-07-28' } };

class Login {
  redirectUrl = 'http://127.0.0.1/back';
  clientMetadata = { client_name: 'interop', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' };
  asked = [];
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  discoveryState() { return this.found; }
  saveDiscoveryState(found) { this.found = found; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  async redirectToAuthorization(url) {
    this.asked.push(url.searchParams.get('scope'));
    const answer = await fetch(url, { redirect: 'manual' });
    this.back = new URL(answer.headers.get('location')).searchParams;
  }
}

await run(async ({ era, url }) => {
  const login = new Login();
  let user;
  let client;
  let transport;
  const connect = async () => {
    client = new Client(
      { name: 'interop-login', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: modes[era] } },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => user.answer(params));
    transport = new StreamableHTTPClientTransport(url, { authProvider: login });
    await client.connect(transport);
  };
  // loggedIn tries once more when the user has come back from the login: the one that the server
  // wants, and the one for the scope of the tool.
  const loggedIn = async (attempt, logins = 2) => {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || logins === 0) throw error;
      await transport.finishAuth(login.back);
      return loggedIn(attempt, logins - 1);
    }
  };
  await loggedIn(connect);
  return {
    call: async (cell, person) => {
      user = person;
      login.asked = [];
      if (cell.token) login.saved = { access_token: cell.token, token_type: 'Bearer' };
      const { tool: name, arguments: args, state: requestState, responses: inputResponses } = cell;
      const result = await loggedIn(() => client.callTool({ name, arguments: args, requestState, inputResponses }));
      return { ...result, status: login.asked.join(', ') };
    },
    close: () => client.close(),
  };
});
