#!/usr/bin/env bash
# As in the official image, CLICKHOUSE_USER takes the place of `default`; the engine ends when its standard input does.
set -euo pipefail
if [ -n "${CLICKHOUSE_PASSWORD:-}" ] && [ "${CLICKHOUSE_SKIP_USER_SETUP:-0}" != 1 ]; then
  cat >/etc/clickhouse-server/users.d/default-user.xml <<XML
<clickhouse>
  <users>
    <${CLICKHOUSE_USER:=owner}>
      <password>$CLICKHOUSE_PASSWORD</password>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>${CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT:-0}</access_management>
    </$CLICKHOUSE_USER>
  </users>
</clickhouse>
XML
fi

input=$(mktemp -u)
mkfifo "$input"
library=$(cd /opt/engine && node --print 'require("chdb/libchdb").libchdbPath()')
node /opt/engine/engine-process.mjs "$library" /etc/clickhouse-server/config.xml 8123 <"$input" &
exec 3>"$input"
trap 'exec 3>&-' TERM INT
# A signal breaks off the first wait.
wait $! || wait $!
