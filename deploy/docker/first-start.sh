#!/bin/sh
# Writes .env with new tokens beside compose.yaml, unless it is there.
set -eu
cd "$(dirname "$0")"
if [ ! -e .env ]; then
  umask 077
  for name in SLUICE_ADMIN_TOKEN SLUICE_DECIDE_TOKEN INTERNAL_SERVICE_TOKEN POSTGRES_PASSWORD; do
    echo "$name=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
  done > .env
fi
echo "The example will be at http://127.0.0.1:3000/v1/analyze; examples/sentiment-service has requests to try."
echo "The page will be at http://127.0.0.1:8441; SLUICE_ADMIN_TOKEN in $(pwd)/.env signs in."
