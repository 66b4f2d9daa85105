#!/usr/bin/env bash
# Builds images that stand in for the official ones where none can be pulled, and Candlepool's own on top of them. Needs root, debootstrap,
# Java and Maven. What has not changed comes from the Docker engine's cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
stand_in=test/containers/stand-in

# build NAME FILES…: files as tar takes them.
build() { tar -ch "${@:2}" | docker build -q -t "$1" - >/dev/null; }

if [ -z "$(docker images -q candlepool/debian:12)" ]; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase --include=ca-certificates,libstdc++6,wget bookworm "$root" >/dev/null
  # Where a proxy looks into what is fetched, its certificate is one of this machine's.
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  tar -C "$root" -c . | docker import - candlepool/debian:12 >/dev/null
fi

node=$(.ci/node 24)
build candlepool/node -C "$PWD/$stand_in/node" . -C "$(dirname "$node")" "$(basename "$node")" -C "$(npm root --global)" npm

jars=$(node --import tsx --eval "import('./test/support/kafka-jars.ts').then((it) => it.fetchedKafka()).then(console.log)")
build candlepool/kafka -C "$PWD/$stand_in/kafka" . -C "$(dirname "$jars")" "$(basename "$jars")"

build candlepool/clickhouse -C "$PWD/$stand_in/clickhouse" . -C "$PWD/infra/clickhouse/engine" engine-process.mjs landlock.mjs \
  -C "$PWD" node_modules/chdb node_modules/@chdb node_modules/ffi-rs node_modules/@yuuang

build candlepool/prometheus -C "$PWD/$stand_in/prometheus" .

candlepool() {
  tar -c --exclude infra/.env package.json package-lock.json tsconfig.json ingest aggregator api infra |
    docker build -q -f infra/Dockerfile --build-arg NODE_IMAGE=candlepool/node --build-arg BASE_IMAGE=candlepool/debian:12 "$@" - >/dev/null
}
# With names of their own, the first stages stay in the cache.
candlepool --target dependencies -t candlepool/dependencies
candlepool --target build -t candlepool/build
candlepool -t candlepool

docker images --format '{{.Repository}}:{{.Tag}} {{.Size}}' | grep ^candlepool
