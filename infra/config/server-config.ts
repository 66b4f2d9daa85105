/** The ClickHouse servers that the environment names: one, or all of a cluster. */
import { BadConfiguration } from './bad-configuration.ts'

export type ServerConfig = {
  kind: 'server'
  url: string
  username: string
  password: string
  database: string
  /** Passwords of the users `api` and `accounts`; without them `username` runs those queries. */
  apiPassword: string | undefined
  accountsPassword: string | undefined
  /** The servers over which the tables are spread; absent where there is one. */
  cluster: ClusterConfig | undefined
}

/** As ClickHouse's own configuration names it, with the address of each of its servers. */
export type ClusterConfig = { name: string; urls: readonly string[] }

/** As it was read, each variable by itself. */
type Given = {
  CLICKHOUSE_URL?: readonly string[] | undefined
  CLICKHOUSE_CLUSTER?: string | undefined
  CLICKHOUSE_USER?: string | undefined
  CLICKHOUSE_PASSWORD?: string | undefined
  CLICKHOUSE_API_PASSWORD?: string | undefined
  CLICKHOUSE_ACCOUNTS_PASSWORD?: string | undefined
  CLICKHOUSE_DATABASE: string
}

/** Undefined where none is named. */
export function serverOf(it: Given): ServerConfig | undefined {
  const { CLICKHOUSE_URL: urls = [], CLICKHOUSE_CLUSTER: cluster } = it
  const [url] = urls
  if (cluster === undefined && urls.length > 1)
    throw new BadConfiguration(['CLICKHOUSE_URL names several servers, and CLICKHOUSE_CLUSTER no cluster of them'])
  if (cluster !== undefined && url === undefined)
    throw new BadConfiguration(['CLICKHOUSE_CLUSTER needs the address of each of its servers in CLICKHOUSE_URL'])
  if (url === undefined) return undefined
  return {
    kind: 'server',
    url,
    username: it.CLICKHOUSE_USER ?? 'default',
    password: it.CLICKHOUSE_PASSWORD ?? '',
    database: it.CLICKHOUSE_DATABASE,
    apiPassword: it.CLICKHOUSE_API_PASSWORD,
    accountsPassword: it.CLICKHOUSE_ACCOUNTS_PASSWORD,
    cluster: cluster === undefined ? undefined : { name: cluster, urls },
  }
}
