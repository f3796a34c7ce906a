import type { Sandbox } from '../../src/sandbox/server.js';
import { startGateway, type TestGateway } from './gateway.js';

/** A market of the sandbox that can be published. */
export const market = '4';
export const readMarket = `{ market(id: ${market}) { reviewStatus jobs(phase: PUBLISH) { id } } }`;
export const publishMarket = `mutation { publishMarket(input: { marketId: ${market} }) { jobs { id } } }`;

/** How often the service was asked for the record of the market. */
export const recordCallsOf = (sandbox: Sandbox): number => sandbox.calls.count(new RegExp(`/dev/markets/${market}$`));

/** Two gateways over one Redis. */
export function startPair(
  sandbox: Sandbox,
  redisUrl: string,
  env: Record<string, string> = {},
): Promise<[TestGateway, TestGateway]> {
  const start = () => startGateway({ sandbox, redisUrl, env: { SESSION_SECRET: 's'.repeat(40), ...env } });
  return Promise.all([start(), start()]);
}
