#!/bin/sh
# Restarts gateways of this machine one after the other, so that they read all variables and files again: roll.sh 1 2
# If one is not ready within a minute, those after it stay as they are.
set -eu
for instance in "$@"; do
  systemctl restart "gateway@$instance"
  curl --silent --show-error --fail --output /dev/null --noproxy '*' --max-time 5 --retry 60 --retry-delay 1 --retry-max-time 60 \
    --retry-all-errors "http://127.0.0.1:410$instance/readyz"
  # HAProxy asks a gateway that is down only once a second: without this, the next could end before HAProxy knows that this one is ready.
  sleep 2
done
