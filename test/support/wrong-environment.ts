/** Variables of a gateway, each of which is invalid. */
export const wrongEnvironment = {
  PORT: '70000',
  UPSTREAM_BASE_URL: 'ftp://service.example',
  UPSTREAM_API_URL: 'not an address',
  UPSTREAM_TIMEOUT_MS: 'soon',
  UPSTREAM_CONNECTIONS: '0',
  REDIS_URL: 'http://redis.example',
  SESSION_SECRET: 'too short',
  EVENTS_SEARCH_PARAM: 'a&b',
  KEYWORD_SUGGESTION_PATH: 'no/slash',
  EXPLAIN: 'perhaps',
};
