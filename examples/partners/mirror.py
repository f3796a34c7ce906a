"""A copy of the events in mirror.sqlite: `python3 mirror.py` brings it up to date, `python3 mirror.py 60` does so every minute."""
import http.client, json, os, sqlite3, sys, time, urllib.error, urllib.request

# The last 30 days at the time of the first list, with any score.
FILTER = {"severity": {"min": 0}, "likelihood": {"min": 0}}
EVENT = "id title summary lastUpdated severity likelihood alertTypes { name }"
LIST = """query List($after: String, $filter: EventFilter) { events(first: 50, after: $after, filter: $filter) {
  edges { cursor node { %s } } pageInfo { hasNextPage endCursor } %s } }"""
CHANGES = """query Changes($after: String, $filter: EventFilter) { eventChanges(first: 1000, after: $after, filter: $filter) {
  nodes { event { %s } } cursor hasMore gap } }""" % EVENT


class Refused(Exception):
    pass


def ask(query, **variables):
    """Send one request, again and again while the reason why it failed may pass; without an interval, for five minutes."""
    headers = {"content-type": "application/json", "x-api-key": os.environ["API_KEY"]}
    body = json.dumps({"query": query, "variables": variables}).encode()
    begun = time.monotonic()
    while True:
        wait = 1
        try:
            with urllib.request.urlopen(urllib.request.Request(os.environ["GATEWAY"] + "/graphql", body, headers), timeout=40) as sent:
                answer = json.load(sent)
            found = answer.get("errors", [])
            errors = [error["extensions"] for error in found if len(error.get("path", [])) < 2]
            # What a stale list lacks may be behind no cursor.
            if not errors and not answer.get("extensions", {}).get("stale"):
                # A record, or a part of one, that cannot be read takes no other with it.
                for error in found:
                    print("unreadable:", error["message"], file=sys.stderr)
                return answer
            if any(not error.get("retryable") and error["code"] != "RATE_LIMITED" for error in errors):
                raise Refused(found)
            wait = max([wait, *(error.get("retryAfterSeconds", wait) for error in errors)])
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 502, 503, 504):
                raise Refused(refused.read().decode())
            # A proxy may send a date.
            after = refused.headers.get("retry-after", "")
            if after.isdigit():
                wait = float(after)
        except (OSError, ValueError, http.client.HTTPException) as lost:
            print("no answer:", lost, file=sys.stderr)
        if len(sys.argv) < 2 and time.monotonic() - begun > 300:
            # Under cron, those that wait would become ever more.
            raise SystemExit("the gateway is away or busy")
        time.sleep(wait)


# Another one may be reading the list.
db = sqlite3.connect("mirror.sqlite", timeout=600)
db.execute("create table if not exists events (id text primary key, updated text, listing text, event text)")
db.execute("create table if not exists place (cursor text)")


def store(events, listing=None):
    """Keep the newest version of each, and note which the list has, also in a version that is older or has no time."""
    rows = [{**event, "listing": listing, "event": json.dumps(event)} for event in events]
    db.executemany("update events set listing = :listing where id = :id and :listing is not null", rows)
    db.executemany(
        """insert into events values (:id, :lastUpdated, :listing, :event) on conflict (id) do update
        set updated = excluded.updated, event = excluded.event
        where updated is null or julianday(excluded.updated) >= julianday(updated)""",
        rows,
    )


def move_to(cursor):
    db.execute("delete from place")
    db.execute("insert into place values (?)", [cursor])


def version(edge):
    return edge["node"]["id"], edge["node"]["lastUpdated"]


def read_list():
    """Read every page. Each begins with the last event of the page before: if it does not, the list has moved, and this goes back."""
    listing, cursors, seen, start = str(time.time_ns()), [None], set(), None
    since = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 30 * 86400))
    at, more, all_readable = 0, True, True
    while more:
        query = LIST % (EVENT, "updatesCursor" if start is None else "")
        answer = ask(query, after=cursors[at], filter={**FILTER, "from": since})
        page = answer["data"]["events"]
        edges = page["edges"]
        # Nothing is known of what follows the last cursor.
        if 0 < at < len(cursors) - 1 and (not edges or version(edges[0]) not in seen):
            at = max(at - 50, 0)
            continue
        # What changes from now on comes behind this cursor.
        start = start or page["updatesCursor"]
        store([edge["node"] for edge in edges], listing)
        seen.update(map(version, edges))
        cursors[at + 1 :] = [edge["cursor"] for edge in edges]
        at, more = len(cursors) - 2, page["pageInfo"]["hasNextPage"]
        if len(edges) < 2:
            # Nothing else on this page can be read: the next one begins behind it.
            cursors.append(page["pageInfo"]["endCursor"])
            at = len(cursors) - 1
        all_readable = all_readable and not answer.get("errors")
    # What the list lacks is gone, or cannot be read.
    if all_readable:
        db.execute("delete from events where listing is not ?", [listing])
    move_to(start)
    # All or nothing: a program that is killed before begins again.
    db.commit()


def catch_up():
    """Read what has changed since the last time; the whole list if that is not known."""
    more = True
    while more:
        cursor = db.execute("select cursor from place").fetchone()
        if cursor is None:
            read_list()
            continue
        try:
            changes = ask(CHANGES, after=cursor[0], filter=FILTER)["data"]["eventChanges"]
        except Refused as refused:
            # The cursor is of another filter or key.
            if '"argument": "after"' not in json.dumps(refused.args[0]):
                raise
            changes = {"gap": True}
        if changes["gap"]:
            read_list()
            continue
        store([node["event"] for node in changes["nodes"]])
        move_to(changes["cursor"])
        db.commit()
        more = changes["hasMore"]


while True:
    catch_up()
    print("up to date", flush=True)
    if len(sys.argv) < 2:
        break
    time.sleep(float(sys.argv[1]))
