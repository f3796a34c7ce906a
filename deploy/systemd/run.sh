#!/bin/sh
# Runs what `npm run` runs, with the variables of the gateways, without building, as root: gateway purge --all
set -eu
settings=/etc/market-intelligence-gateway
set -a
. "$settings/environment"
set +a
cd /opt/market-intelligence-gateway/current
script=$(node -p 'require("./package.json").scripts[process.argv[1]] ?? ""' "$1")
[ -n "$script" ] || { echo "gateway: package.json has no script $1" >&2; exit 1; }
shift
export NODE_ENV=production SESSION_SECRET_FILE="$settings/SESSION_SECRET" REDIS_URL_FILE="$settings/REDIS_URL" ADMIN_TOKEN_FILE="$settings/ADMIN_TOKEN"
exec sh -c "${script##*&& } \"\$@\"" sh "$@"
