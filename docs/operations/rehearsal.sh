#!/bin/bash
# From nothing to three gateways with TLS, an outage that makes one page, a gateway that is drained, a rotated secret, a renewed certificate and a release
# that is rolled back, on one machine and in minutes. Everything listens on loopback, and the sandbox replaces the service. It needs Node, redis-server, haproxy, prometheus,
# prometheus-alertmanager, openssl, curl and jq, as Debian has them. docs/operators.md explains each step.
#
# In the folder of the repository: npm ci && npm run build && bash docs/operations/rehearsal.sh
set -euo pipefail

# Everything that this script writes is in the folder `rehearsal`. It ends what it has started, also if it fails.
mkdir --parents rehearsal
# A number that an earlier run has left may be that of another process by now.
rm --force rehearsal/*.pid
trap 'kill $(cat rehearsal/*.pid) 2> /dev/null || true; wait' EXIT
say() { printf '\n# %s\n' "$*"; }
fail() { echo "$*" >&2; exit 1; }
waitFor() { until "$@" > /dev/null 2>&1; do sleep 0.1; done; }
makeSecret() { node -p 'require("node:crypto").randomBytes(32).toString("base64url")'; }

say 'Secrets, and a certificate for this machine'
makeSecret > rehearsal/secret
makeSecret > rehearsal/token
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=127.0.0.1 \
  -addext subjectAltName=IP:127.0.0.1 -keyout rehearsal/key.pem -out rehearsal/certificate.pem 2> /dev/null
cat rehearsal/certificate.pem rehearsal/key.pem > rehearsal/haproxy.pem

say 'Redis, and the sandbox'
redis-server docs/operations/redis.conf --bind 127.0.0.1 --port 4109 --dir "$PWD/rehearsal" > rehearsal/redis.log 2>&1 &
echo $! > rehearsal/redis.pid
node dist/sandbox/main.js --port 4110 > rehearsal/sandbox.log 2>&1 &
echo $! > rehearsal/sandbox.pid
waitFor curl --silent --fail http://127.0.0.1:4110/_sandbox/calls

# Probes, metrics and operators have a port of their own.
adminOf() { case $1 in 4101) echo 4111 ;; 4102) echo 4112 ;; *) echo 4113 ;; esac }
# Runs a program of a release with the settings of the gateway on a port.
withSettings() {
  local port=$1 program=$2
  shift 2
  NODE_ENV=production PORT=$port ADMIN_PORT=$(adminOf $port) ADMIN_TOKEN_FILE=rehearsal/token \
    REDIS_URL=redis://127.0.0.1:4109 SESSION_SECRET=$(cat rehearsal/secret) \
    UPSTREAM_BASE_URL=http://127.0.0.1:4110 UPSTREAM_API_URL=http://127.0.0.1:4110/api UPSTREAM_DEV_URL=http://127.0.0.1:4110/stage \
    TRUST_PROXY=127.0.0.1 SHUTDOWN_NOTICE_MS=1500 \
    exec node --enable-source-maps "$program" "$@"
}

say 'The settings are checked, and a wrong one is found'
(withSettings 4101 dist/check-config.js --json) | jq .valid
(REDIS_URLS=redis://127.0.0.1:4109 withSettings 4101 dist/check-config.js 2>&1) || true

# Replaces the gateway on a port by one of a release, and waits until it is ready. Starts the first one too.
replace() {
  local port=$1 release=$2
  if [ -f "rehearsal/gateway-$port.pid" ]; then
    kill "$(cat "rehearsal/gateway-$port.pid")"
    while curl --silent --output /dev/null "http://127.0.0.1:$port/healthz"; do sleep 0.1; done
  fi
  withSettings $port "$release/dist/main.js" > "rehearsal/gateway-$port.log" 2>&1 &
  echo $! > "rehearsal/gateway-$port.pid"
  until curl --silent --fail --output /dev/null "http://127.0.0.1:$port/readyz"; do
    kill -0 $! || fail "$(cat "rehearsal/gateway-$port.log")"
    sleep 0.1
  done
}
replaceAll() { for port in 4101 4102 4103; do replace $port "$1"; done; }

say 'Three gateways behind a balancer with TLS'
replaceAll .
# -W lets it load another certificate later.
BALANCER=127.0.0.1:4143 CERTIFICATE=rehearsal/haproxy.pem \
  GATEWAY_ONE=127.0.0.1:4101 GATEWAY_TWO=127.0.0.1:4102 GATEWAY_THREE=127.0.0.1:4103 \
  haproxy -W -db -f docs/operations/haproxy.cfg > rehearsal/haproxy.log 2>&1 &
echo $! > rehearsal/haproxy.pid
waitFor curl --silent --fail --cacert rehearsal/certificate.pem https://127.0.0.1:4143/readyz

# Sends a query over HTTP/2. Further arguments are for curl.
ask() {
  local query=$1
  shift
  jq --null-input --arg query "$query" '{ $query }' |
    curl --silent --show-error --fail --max-time 30 --cacert rehearsal/certificate.pem https://127.0.0.1:4143/graphql \
      --header 'content-type: application/json' --data @- "$@"
}
ask '{ __typename }' --write-out ' by HTTP/%{http_version}\n'

# From now on, a client asks for something new again and again, and notes what fails.
traffic() {
  local number=0 query answer
  while true; do
    number=$((number + 1))
    query="{ events(filter: { impactedEntities: [\"Company $number\"] }) { totalCount } }"
    answer=$(ask "$query" --header 'x-api-key: demo-key-subscribed' 2>&1 || true)
    [ "$answer" = '{"data":{"events":{"totalCount":0}}}' ] || echo "$number: $answer" >> rehearsal/failed.txt
  done
}
: > rehearsal/failed.txt
traffic &
echo $! > rehearsal/traffic.pid

say 'Alerts'
# The rules are those of production, but sixty times as fast: an hour becomes a minute. Alertmanager sends its messages to the pager of this rehearsal.
faster() {
  sed --regexp-extended -e 's/\b15s\b/250ms/g' -e 's/\b30s\b/500ms/g' -e 's/\b45s\b/750ms/g' -e 's/\b([0-9]+)m\b/\1s/g' -e 's/\b([0-9]+)h\b/\1m/g' \
    -e 's/\b1d\b/24m/g' -e 's/\b3d\b/72m/g' -e 's/127.0.0.1:9099/127.0.0.1:4199/' "docs/operations/$1" > "rehearsal/$1"
}
faster alertmanager.yml
cat > rehearsal/prometheus.yml <<'YAML'
global: { scrape_interval: 1s, evaluation_interval: 500ms }
rule_files: [alerts.yml]
alerting:
  alertmanagers:
    - static_configs:
        - targets: ["127.0.0.1:4193"]
scrape_configs:
  - job_name: gateway
    static_configs:
      - targets: ["127.0.0.1:4111", "127.0.0.1:4112", "127.0.0.1:4113"]
YAML
# The pager writes a line for each message.
cat > rehearsal/pager.mjs <<'JS'
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

createServer(async (request, response) => {
  const { status, alerts } = await json(request);
  console.log(request.url.slice(1), status, ...new Set(alerts.map(({ labels }) => labels.alertname)));
  response.end();
}).listen(4199, '127.0.0.1');
JS
node rehearsal/pager.mjs > rehearsal/pages.txt 2>&1 &
echo $! > rehearsal/pager.pid
prometheus-alertmanager --config.file rehearsal/alertmanager.yml --storage.path rehearsal/alertmanager \
  --web.listen-address 127.0.0.1:4193 --cluster.listen-address= > rehearsal/alertmanager.log 2>&1 &
echo $! > rehearsal/alertmanager.pid
prometheus --config.file rehearsal/prometheus.yml --storage.tsdb.path rehearsal/prometheus \
  --web.listen-address 127.0.0.1:4190 > rehearsal/prometheus.log 2>&1 &
echo $! > rehearsal/prometheus.pid
isScraped() {
  curl --silent --fail --get http://127.0.0.1:4190/api/v1/query --data-urlencode 'query=count(up{job="gateway"} == 1) == 3' |
    jq --exit-status '.data.result[0]'
}
waitFor isScraped
# So fast, the rules would find no gateway before the first scrape, for which production leaves a minute.
faster alerts.yml
kill -HUP "$(cat rehearsal/prometheus.pid)"
hasRules() { curl --silent --fail http://127.0.0.1:4190/api/v1/rules | jq --exit-status '.data.groups[0]'; }
waitFor hasRules

say 'An outage: the service fails, and is back'
curl --silent --show-error --fail http://127.0.0.1:4110/_sandbox/rules \
  --header 'content-type: application/json' --data '{ "pathPattern": ".", "status": 503 }'
waitFor grep '^page firing' rehearsal/pages.txt
curl --silent --show-error --fail --request DELETE http://127.0.0.1:4110/_sandbox/rules
# The page ends by itself, half a minute later: it would take half an hour with the rules of production.
waitFor grep '^page resolved' rehearsal/pages.txt
grep '^page' rehearsal/pages.txt

say 'A gateway is drained and taken back, while nothing fails'
: > rehearsal/failed.txt
# Sends an order to the first gateway.
order() {
  local method=$1 path=$2
  shift 2
  curl --silent --show-error --fail --request "$method" "http://127.0.0.1:4111$path" --write-out '\n' \
    --header @<(printf 'authorization: Bearer %s' "$(cat rehearsal/token)") "$@"
}
says() { curl --silent "http://127.0.0.1:4101/readyz" | grep "$1"; }
order POST /drain
waitFor says draining
order DELETE /drain
waitFor says ready

say 'Each request is logged for a moment'
order PUT /log-level --data '{ "level": "info" }'
waitFor grep '"msg":"Answered"' rehearsal/gateway-4101.log
order PUT /log-level --data '{ "level": "warn" }'

say 'A rotated secret'
# A user signs in, so that there is a session under the old secret.
ask 'mutation { signIn(input: { email: "ada@team.example", password: "sandbox-ada" }) { viewer { email } } }' \
  --cookie-jar rehearsal/cookies.txt --write-out '\n'
cp rehearsal/secret rehearsal/old
makeSecret > rehearsal/new
# 1: the gateways learn the new secret.
echo "$(cat rehearsal/old),$(cat rehearsal/new)" > rehearsal/secret
replaceAll .
# 2: they seal with it. The next response seals the session again.
echo "$(cat rehearsal/new),$(cat rehearsal/old)" > rehearsal/secret
replaceAll .
ask '{ viewer { email } }' --cookie rehearsal/cookies.txt --cookie-jar rehearsal/cookies.txt > rehearsal/answer.json
# 3: they forget the old one, and the user is still signed in.
cp rehearsal/new rehearsal/secret
replaceAll .
ask '{ viewer { email } }' --cookie rehearsal/cookies.txt --write-out '\n'

say 'A renewed certificate'
# The client knows both certificates for a while.
cp rehearsal/certificate.pem rehearsal/old-certificate.pem
openssl req -x509 -key rehearsal/key.pem -days 30 -subj /CN=127.0.0.1 \
  -addext subjectAltName=IP:127.0.0.1 -out rehearsal/renewed.pem
cat rehearsal/renewed.pem rehearsal/old-certificate.pem > rehearsal/certificate.pem
cat rehearsal/renewed.pem rehearsal/key.pem > rehearsal/haproxy.pem
kill -USR2 "$(cat rehearsal/haproxy.pid)"
waitFor curl --silent --fail --cacert rehearsal/renewed.pem https://127.0.0.1:4143/readyz

say 'The next release, and back'
# Here it is the same program. Nothing else has to be undone.
mkdir --parents rehearsal/next
cp --recursive --dereference dist operations schema package.json rehearsal/next
replaceAll rehearsal/next
replaceAll .

say 'Requests that failed since the outage'
wc --lines < rehearsal/failed.txt
[ ! -s rehearsal/failed.txt ] || fail "$(cat rehearsal/failed.txt)"
echo 'Now remove the folder rehearsal.'
