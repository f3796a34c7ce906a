import { text } from 'node:stream/consumers';
import { startSandbox } from '../../src/sandbox/server.js';
import { addressesOn, startGateway } from './gateway.js';
import { reply, startStubService } from './stub-service.js';

/** A gateway whose service holds back every observation until `open` is called, with the status to answer them with. */
export const startWithObservationsHeld = (env: Record<string, string> = {}) => startWithHeld(/observations?\//, env);

/** A gateway whose service holds back what it is asked for at these paths until `open` is called. */
export async function startWithHeld(paths: RegExp, env: Record<string, string> = {}) {
  const sandbox = await startSandbox();
  let open: (status?: number) => void = () => {};
  const opened = new Promise<number>(resolve => (open = (status = 200) => resolve(status)));
  let [held, ended] = [0, 0];
  const proxy = await startStubService((request, response) => {
    const forward = async () => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name)),
      );
      const { method = 'GET' } = request;
      const answer = await fetch(`${sandbox.origin}${request.url}`, {
        method,
        headers: headers as Record<string, string>,
        ...(method !== 'GET' && { body: await text(request) }),
      });
      reply(response, answer.status, await answer.text());
    };
    if (!paths.test(request.url ?? '')) return void forward();
    held += 1;
    response.once('close', () => (ended += 1));
    void opened.then(status => (status === 200 ? forward() : reply(response, status, { detail: 'secret' })));
  });
  const gateway = await startGateway({ env: { ...addressesOn(proxy.origin), ...env } });
  return {
    gateway,
    open: (status?: number) => open(status),
    held: () => held,
    ended: () => ended,
    async close() {
      await gateway.close();
      await proxy.close();
      await sandbox.close();
    },
  };
}
