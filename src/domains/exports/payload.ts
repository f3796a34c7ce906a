/** The body of an outbound call, and how many companies were selected and are in it. */
export interface Payload {
  readonly body: string;
  readonly selected: number;
  readonly sent: number;
}

/** The body of an export (docs/upstream-api.md: Outbound request body). @param data the companies to send, of `selected` ones. */
export function payloadOf(market: { id: string; name: string }, selected: number, data: readonly object[]): Payload {
  const body = { meta: { totalItems: selected }, market: { id: Number(market.id), name: market.name }, data };
  return { body: JSON.stringify(body), selected, sent: data.length };
}

/** The body of a test: an export of no companies of a market that does not exist. */
export const testPayload: Payload = {
  body: JSON.stringify({ meta: { totalItems: 0, isTest: true }, market: { id: 0, name: 'Test' }, data: [] }),
  selected: 0,
  sent: 0,
};
