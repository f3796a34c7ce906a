import http.client, json, os, sys, time, urllib.error, urllib.request


def subscribe(query, variables):
    """Yield the data of each message until the subscription completes. Connect again after a lost connection."""
    headers = {"accept": "text/event-stream", "content-type": "application/json", "x-api-key": os.environ["API_KEY"]}
    request = os.environ["GATEWAY"] + "/graphql/stream", json.dumps({"query": query, "variables": variables}).encode(), headers
    while True:
        try:
            # The gateway sends a heartbeat every 15 seconds, so a connection that is silent for longer is lost.
            with urllib.request.urlopen(urllib.request.Request(*request), timeout=40) as lines:
                message = {}
                for line in lines:
                    field, _, value = line.decode(errors="replace").rstrip("\n").partition(": ")
                    if field:
                        message[field] = value
                        continue
                    # An empty line ends a message.
                    if message.get("event") == "complete":
                        return
                    if message.get("data"):
                        answer = json.loads(message["data"])
                        errors = answer.get("errors", [])
                        if errors:
                            print("errors:", errors, file=sys.stderr)
                        if not answer.get("data"):
                            if all(e["extensions"].get("retryable") for e in errors):
                                break
                            raise RuntimeError("the subscription has ended")
                        yield answer["data"]
                        # Continue behind this message after a lost connection.
                        headers["last-event-id"] = message.get("id", "")
                    message = {}
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 502, 503, 504):
                raise RuntimeError(refused.read().decode())
            # A proxy may send a date.
            after = refused.headers.get("retry-after", "")
            if after.isdigit():
                time.sleep(float(after))
        except (OSError, http.client.HTTPException) as lost:
            print("connection lost:", lost, file=sys.stderr)
        time.sleep(5)


for data in subscribe(sys.argv[1], json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}")):
    print(json.dumps(data), flush=True)
