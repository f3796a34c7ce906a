#!/bin/bash
set -euo pipefail
jq --arg query "$1" '{ query: $query, variables: . }' |
  curl --silent --show-error --max-time 100 --data-binary @- --header 'content-type: application/json' \
    --header @<(printf 'x-api-key: %s' "$API_KEY") "$GATEWAY/graphql" |
  jq --exit-status '(.data // empty), (.errors // empty | halt_error)'
