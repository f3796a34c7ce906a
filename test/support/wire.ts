import { type Dispatcher, MockAgent } from 'undici';
import { wireOrigin } from './gateway.js';

/** A call as the fake service sees it; `path` has the query and, before it, the prefix of its address. */
export interface WireCall {
  readonly method: string;
  readonly path: string;
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** What the fake service answers; `body` is sent as it is where it is text or bytes, else as JSON. It may depend on the call. */
export interface WireReply {
  readonly status?: number;
  readonly body: unknown | ((call: WireCall) => unknown);
  readonly headers?: Record<string, string>;
}

/** A service of which a test says every answer, in the place of the network. */
export interface FakeWire {
  readonly wire: Dispatcher;
  /** Every call so far; a test may empty it. */
  readonly calls: WireCall[];
}

/**
 * @param answer is called once for each call.
 * @param delayMs how long each answer is under way, at least 1.
 */
export function fakeWire(answer: (call: WireCall) => WireReply, delayMs = 1): FakeWire {
  const calls: WireCall[] = [];
  const wire = new MockAgent();
  wire.disableNetConnect();
  // A gateway closes its wire; this one may serve several gateways.
  wire.close = async () => {};
  for (const method of ['GET', 'POST', 'PATCH']) {
    wire
      .get(wireOrigin)
      .intercept({ path: () => true, method })
      .reply(options => {
        const call: WireCall = {
          method,
          path: options.path,
          url: new URL(options.path, wireOrigin),
          headers: headersOf(options.headers as unknown as string[]),
          body: typeof options.body === 'string' ? options.body : '',
        };
        calls.push(call);
        const { status = 200, body: given, headers = {} } = answer(call);
        const body = typeof given === 'function' ? given(call) : given;
        return {
          statusCode: status,
          data: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
          responseOptions: { headers: { 'content-type': 'application/json', ...headers } },
        };
      })
      .delay(delayMs)
      .persist();
  }
  return { wire, calls };
}

/** The `meta` of an event list, as a service sends it that returns the page that is asked for. */
export function eventMeta({ searchParams }: URL, totalItems: number) {
  const [currentPage, pageSize] = [Number(searchParams.get('page')), Number(searchParams.get('pageSize'))];
  return { totalItems, totalPages: Math.ceil(totalItems / pageSize), currentPage, pageSize };
}

/** An event list of the service with these events and sizes; what an event leaves out is absent. */
export const eventPage = (events: readonly object[], totalItems = events.length): WireReply => ({
  body: ({ url }: WireCall) => ({ meta: eventMeta(url, totalItems), data: events }),
});

/** The page that a call asks for, of an event list with these events. */
export function pageOf({ url }: WireCall, events: readonly object[], totalItems = events.length): WireReply {
  const { currentPage, pageSize } = eventMeta(url, totalItems);
  return eventPage(events.slice((currentPage - 1) * pageSize, currentPage * pageSize), totalItems);
}

/** @param list names and values in turns. */
function headersOf(list: readonly string[]): Record<string, string> {
  return Object.fromEntries(list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? '']] : [])));
}
