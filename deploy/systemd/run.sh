#!/bin/sh
# Runs a command of the gateway with its variables, as root: run.sh dist/data/cache/purge-command.js --all
set -eu
settings=/etc/market-intelligence-gateway
set -a
. "$settings/environment"
set +a
cd /opt/market-intelligence-gateway/current
NODE_ENV=production SESSION_SECRET_FILE=$settings/SESSION_SECRET REDIS_URL_FILE=$settings/REDIS_URL ADMIN_TOKEN_FILE=$settings/ADMIN_TOKEN \
  exec node "$@"
