import http.client
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
    """Send one request; retry what may pass, with a delay that doubles each time unless the gateway says when."""
    for attempt in range(attempts):
        wait = 2**attempt
        request = urllib.request.Request(
            os.environ["GATEWAY"] + "/graphql",
            data=json.dumps({"query": QUERY, "variables": variables}).encode(),
            headers={"content-type": "application/json", "x-api-key": os.environ["API_KEY"]},
        )
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                answer = json.load(response)
            errors = answer.get("errors", [])
            if not errors:
                return answer["data"]
            problem = RuntimeError(errors)
            if not all(error["extensions"].get("retryable") for error in errors):
                raise problem
            wait = max(error["extensions"].get("retryAfterSeconds", wait) for error in errors)
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 502, 503, 504):
                raise
            # A proxy may send a date.
            after = refused.headers.get("retry-after", "")
            if after.isdigit():
                wait = float(after)
            problem = refused
        except (OSError, http.client.HTTPException) as lost:
            # The connection was refused, broke or took too long.
            problem = lost
        if attempt == attempts - 1:
            raise problem
        time.sleep(wait)


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
