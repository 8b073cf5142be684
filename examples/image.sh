#!/bin/sh
# Puts one example with everything that it needs into an empty folder, from packed tarballs as a registry would have
# them: sh examples/image.sh price-api /app
set -eu
name=$1
target=$2
root=$(cd "$(dirname "$0")/.." && pwd)
packed=$(mktemp -d)
node "$root/scripts/pack.mjs" "$packed" >/dev/null
# Only what it uses.
grep -q '"@sluice/server"' "$root/examples/$name/package.json" || rm "$packed"/sluice-server-*.tgz
for folder in service "$name"; do
  (cd "$root/examples/$folder" && npm pack --silent --ignore-scripts --pack-destination "$packed" >/dev/null)
done
mkdir -p "$target"
cd "$target"
npm init --yes >/dev/null
npm install --omit=dev --no-audit --no-fund --silent "$packed"/*.tgz
rm -r "$packed"
