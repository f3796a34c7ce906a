import json
import os
import time
import urllib.error
import urllib.request

QUERY = """
  query Companies($market: ID!, $after: String) {
    market(id: $market) {
      companies(first: 100, after: $after) {
        totalCount
        nodes { domain name operatesIn }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
"""


def ask(variables, attempts=4):
    """Send one request; retry errors that may pass, with a delay that doubles each time."""
    for attempt in range(attempts):
        request = urllib.request.Request(
            os.environ["GATEWAY"] + "/graphql",
            data=json.dumps({"query": QUERY, "variables": variables}).encode(),
            headers={"content-type": "application/json", "x-api-key": os.environ["API_KEY"]},
        )
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 502, 503, 504) or attempt == attempts - 1:
                raise
            time.sleep(float(refused.headers.get("retry-after", 2**attempt)))
            continue
        errors = answer.get("errors", [])
        if not errors:
            return answer["data"]
        if attempt == attempts - 1 or not all(e["extensions"].get("retryable") for e in errors):
            raise RuntimeError(errors)
        time.sleep(2**attempt)


after, domains = None, []
while True:
    page = ask({"market": os.environ["MARKET"], "after": after})["market"]["companies"]
    domains += [company["domain"] for company in page["nodes"]]
    if not page["pageInfo"]["hasNextPage"]:
        break
    after = page["pageInfo"]["endCursor"]
if len(set(domains)) != page["totalCount"]:
    raise SystemExit("some are missing")
print("all companies read")
