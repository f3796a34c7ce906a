import { HeaderMap, type HTTPGraphQLRequest } from '@apollo/server';
import type { FastifyRequest } from 'fastify';
import type { Admission } from '../../graphql/limits/admission.js';
import { hasDocumentHash } from '../../graphql/limits/trusted-documents.js';

/** A request in Apollo's form, with the text of the document that was admitted in place of its hash. @throws what `admission.documentText` throws. */
export function admitted(request: FastifyRequest, admission: Admission): HTTPGraphQLRequest {
  const asked = asApollo(request);
  return request.method === 'GET'
    ? { ...asked, search: admittedSearch(asked.search, admission) }
    : admittedBody(asked, admission);
}

/** A request in Apollo's form, as it came. */
export function asApollo({ method, url, headers, body }: FastifyRequest): HTTPGraphQLRequest {
  const map = new HeaderMap();
  for (const [name, value] of Object.entries(headers)) {
    if (value) map.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const query = url.indexOf('?');
  return { method, headers: map, body, search: query === -1 ? '' : url.slice(query) };
}

function admittedBody(asked: HTTPGraphQLRequest, admission: Admission): HTTPGraphQLRequest {
  const { body } = asked;
  const params: Record<string, unknown> =
    typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : {};
  const text = admission.documentText(params);
  if (text === undefined || !hasDocumentHash(params)) return asked;
  const { extensions: _, documentId: __, ...rest } = params;
  return { ...asked, body: { ...rest, query: text } };
}

function admittedSearch(search: string, admission: Admission): string {
  const params = new URLSearchParams(search);
  const named = {
    query: params.get('query') ?? undefined,
    documentId: params.get('documentId') ?? undefined,
    extensions: parsed(params.get('extensions')),
    variables: parsed(params.get('variables')),
  };
  const text = admission.documentText(named);
  if (text === undefined || !hasDocumentHash(named)) return search;
  params.set('query', text);
  params.delete('extensions');
  params.delete('documentId');
  return `?${params}`;
}

/** JSON, or undefined where it is none: Apollo says so in its own words. */
function parsed(json: string | null): unknown {
  try {
    return json === null ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}
