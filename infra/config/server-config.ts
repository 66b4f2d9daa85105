/** The ClickHouse servers that the environment names: one, or all of a cluster. */
import { z } from 'zod'
import { BadConfiguration } from './bad-configuration.ts'
import { listOf, matching } from './values.ts'

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

export const serverVariables = {
  CLICKHOUSE_URL: listOf(
    z.url({ protocol: /^https?$/, error: 'is not an http(s) address, or those of a cluster, comma separated' }),
    'names no address',
  ).optional(),
  CLICKHOUSE_CLUSTER: matching(
    /^[A-Za-z0-9_-]{1,64}$/,
    'is not a name of letters, digits, underscores and hyphens',
  ).optional(),
  CLICKHOUSE_USER: z.string().optional(),
  CLICKHOUSE_PASSWORD: z.string().optional(),
  CLICKHOUSE_API_PASSWORD: z.string().optional(),
  CLICKHOUSE_ACCOUNTS_PASSWORD: z.string().optional(),
  CLICKHOUSE_DATABASE: matching(
    /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
    'is not a name of letters, digits and underscores',
  ).default('candlepool'),
} as const

/** Undefined where none is named. */
export function serverOf(it: z.infer<z.ZodObject<typeof serverVariables>>): ServerConfig | undefined {
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
