// The service as the peers call it: undici's pool, as wide as the gateway's.
import { Pool } from 'undici';

const base = new URL(process.env.UPSTREAM_BASE_URL ?? '');
const pool = new Pool(base.origin, { connections: 128 });

/**
 * @param {string} path @param {string} key the caller's API key
 * @param {object} [input] to be sent, in a POST
 * @returns {Promise<Buffer>}
 */
export function bytesOf(path, key, input) {
  return new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = [];
    const headers = { accept: 'application/json', 'x-api-key': key };
    const request = input
      ? { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(input) }
      : { method: 'GET', headers };
    pool.dispatch(
      { ...request, path: base.pathname + path },
      {
        onRequestStart() {},
        onResponseStart(_, status) {
          if (status !== 200) throw new Error(`The service answered with ${status}`);
        },
        onResponseData: (_, chunk) => void chunks.push(chunk),
        onResponseEnd: () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)),
        onResponseError: (_, error) => reject(error),
      },
    );
  });
}

/** @param {number} first */
export const eventsPath = first => `/v2/events-monitor/events?pageSize=${first}&page=1`;
/** @param {string} id */
export const observationPath = id => `/v2/events-monitor/observation/${id}`;
export const criteriaPath = '/v2/discovery/search-criteria';

/** The service for one request: each address is asked for once. @param {string} key */
export function createClient(key) {
  const asked = new Map();
  const read = path => {
    const found = asked.get(path);
    if (found !== undefined) return found;
    const reading = bytesOf(path, key).then(bytes => JSON.parse(bytes.toString()));
    asked.set(path, reading);
    return reading;
  };
  return {
    events: async first => connection(await read(eventsPath(first))),
    observation: async id => observation(await read(observationPath(id))),
    createSearchCriteria: async input => JSON.parse((await bytesOf(criteriaPath, key, input)).toString()),
  };
}

/** A page of the service in the schema's names. @param {any} page */
export function connection({ meta, data }) {
  const nodes = data.map(({ _id, references, taxonomicMatches, ...rest }) => ({
    ...rest,
    ...taxonomicMatches,
    id: _id,
    references: references.map(({ _id: id, ...reference }) => ({ ...reference, id })),
  }));
  return { nodes, totalCount: meta.totalItems };
}

/** An observation of the service in the schema's names. @param {any} body */
export const observation = ({ _id, ...rest }) => ({ ...rest, id: _id });
