/** The environment, read once into the configuration of the processes. No other file reads it. */
import { resolve } from 'node:path'
import { z } from 'zod'
import type { Retention } from '../../aggregator/candles/retention.ts'
import { PROOF_SHARE } from '../../aggregator/extras/audit/audit.ts'
import { KEY_CHARACTERS } from '../../api/accounts/keys.ts'
import type { ServiceAccess } from '../../api/extras/mcp/tools.ts'
import type { TrustedProxies } from '../../api/http/client-address.ts'
import type { StartBlock } from '../../ingest/follow/start-block.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import { NETWORK_NAMES, type Network, type NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { HeaderProofMode } from '../../ingest/rpc/endpoints/endpoints.ts'
import type { BudgetLimits } from '../../ingest/rpc/endpoints/request-budget.ts'
import { BadConfiguration } from './bad-configuration.ts'
import { type KafkaConfig, kafkaConfigOf, kafkaVariables } from './kafka-config.ts'
import { PUBLIC_URLS } from './public-endpoints.ts'
import { type PublishConfig, publishConfigOf, publishVariables } from './publish-config.ts'
import { retentionOf, retentionVariables } from './retention-config.ts'
import {
  headerProblems,
  pollPeriod,
  proxiesOf,
  proxyVariables,
  type RpcAccess,
  type RpcHeader,
  requestBudget,
  rpcHeaders,
} from './rpc-access.ts'
import { type ServerConfig, serverOf, serverVariables } from './server-config.ts'
import { type NearName, nearNames, strangeEndpoints } from './unknown-variables.ts'
import { list, listOf, numberUpTo, origin, poolId, shareOf, start, trustedProxies } from './values.ts'
import { venues, venuesByNetwork } from './venues-config.ts'

export type NetworkConfig = {
  network: Network
  /** http(s) and ws(s), in the order of preference. */
  urls: readonly string[]
  /** True where no endpoint is configured and public ones are used. */
  isPublic: boolean
  start: StartBlock
  /** Directly and without headers where absent. */
  access?: RpcAccess | undefined
  /** Requests to its endpoints; unlimited where absent. */
  budget?: BudgetLimits | undefined
  /** Heads are read in this period; where absent, at each notification and once a second. */
  pollSeconds?: number | undefined
  /** `required` where absent. */
  headerProof?: HeaderProofMode | undefined
}

export type Config = {
  /** The devnet where no network is configured at all. */
  chain: { kind: 'devnet' } | { kind: 'networks'; networks: readonly NetworkConfig[] }
  log: { kind: 'in-process' } | ({ kind: 'kafka' } & KafkaConfig)
  publish: PublishConfig | undefined
  store: { kind: 'embedded' } | ServerConfig
  pools: ReadonlySet<PoolId> | undefined
  retention: Retention
  /** Share of one core that the permanent verification takes, of all networks of a process together; 0: it is off. */
  verifyShare: number
  proofShare: number
  /** Syncs the rows of the ledger to the disk, so that a power cut does not lose any of them. */
  fsync: boolean
  dataDir: string
  host: string
  port: number
  /** Processes of `npm run api` behind its port. */
  apiProcesses: number
  adminPort: number | undefined
  adminHost: string
  sqlPort: number | undefined
  sqlHost: string
  /** How late a network may be in a process that calls itself ready. */
  readyTipSeconds: number
  /** All where absent. */
  corsOrigins: readonly string[] | undefined
  /** Origins whose pages may frame the chart at /embed, beside the service's own; none where absent. */
  embedOrigins: readonly string[] | undefined
  /** Proxies in front of the API whose X-Forwarded-For counts; none where absent. */
  trustedProxies: TrustedProxies | undefined
  bootstrapApiKey: string | undefined
  logLevel: (typeof LOG_LEVELS)[number]
  nearNames: readonly NearName[]
  /** Between npm and this process is a shell, which a signal to npm ends alone. */
  isRunByNpm: boolean
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const port = numberUpTo(65_535, /^\d{1,5}$/, 'is not a port: a number from 0 to 65535')
const rpcUrls = listOf(
  z.url({ protocol: /^(https?|wss?)$/, error: 'is not a list of http(s) or ws(s) addresses, comma separated' }),
  'names no address',
)
const perNetwork = Object.fromEntries(
  NETWORK_NAMES.flatMap((name) => [
    [`${name.toUpperCase()}_RPC_URL`, rpcUrls.optional()],
    [`${name.toUpperCase()}_RPC_HEADERS`, rpcHeaders.optional()],
    [`${name.toUpperCase()}_START`, start.optional()],
    [`${name.toUpperCase()}_RPC_BUDGET`, requestBudget.optional()],
    [`${name.toUpperCase()}_POLL`, pollPeriod.optional()],
    [`${name.toUpperCase()}_VENUES`, venues.optional()],
  ]),
) as Record<
  string,
  z.ZodOptional<
    typeof rpcUrls | typeof rpcHeaders | typeof start | typeof requestBudget | typeof pollPeriod | typeof venues
  >
>

const schema = z.object({
  ...perNetwork,
  NETWORKS: listOf(
    z.enum(NETWORK_NAMES, `names something else than ${NETWORK_NAMES.join(', ')}`),
    'names no network',
  ).optional(),
  VENUES: venues.default(['uniswap']),
  POOLS: listOf(poolId, 'names no pool').optional(),
  ...proxyVariables,
  ...kafkaVariables,
  ...publishVariables,
  ...serverVariables,
  ...retentionVariables,
  FSYNC: z.enum(['on', 'off'], 'is neither on nor off').default('on'),
  VERIFY_SHARE: shareOf('one core').default(0.02),
  PROOF_SHARE: shareOf('the final blocks with swaps').default(PROOF_SHARE),
  HEADER_PROOF: z.enum(['required', 'off'], 'is neither required nor off').default('required'),
  DATA_DIR: z.string().default('data'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  API_PROCESSES: numberUpTo(64, /^[1-9]\d?$/, 'is not a number from 1 to 64').default(1),
  ADMIN_PORT: port.optional(),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  SQL_PORT: port.optional(),
  SQL_HOST: z.string().default('127.0.0.1'),
  READY_TIP_SECONDS: numberUpTo(999_999, /^[1-9]\d{0,5}$/, 'is not a number of seconds from 1 to 999999').default(300),
  CORS_ORIGINS: list
    .pipe(z.array(z.url({ protocol: /^https?$/, error: 'is not a list of origins such as https://example.org' })))
    .optional(),
  EMBED_ORIGINS: listOf(origin, 'names no origin').optional(),
  TRUST_PROXY: trustedProxies.optional(),
  BOOTSTRAP_API_KEY: z
    .string()
    .min(16, 'is shorter than 16 characters: it could be guessed')
    .max(256, 'is longer than 256 characters')
    .regex(KEY_CHARACTERS, 'holds a blank or a character that is not ASCII, which no header takes')
    .optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `is none of ${LOG_LEVELS.join(', ')}`).default('info'),
})

/** The names of all that is read. */
export const VARIABLES: readonly string[] = Object.keys(schema.shape)

const DEFAULT_START: StartBlock = { kind: 'seconds-ago', seconds: 86_400 }

type Environment = Readonly<Record<string, string | undefined>>

export function readConfig(environment: Environment = process.env): Config {
  // An empty variable is an unset one: compose files and shells cannot tell them apart.
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
  for (const name of Object.keys(proxyVariables)) given[name] = given[name.toLowerCase()] ?? given[name]
  const parsed = schema.safeParse(given)
  const names = Object.keys(given)
  const strange = strangeEndpoints(names, VARIABLES)
  if (!parsed.success || strange.length > 0) {
    // The value itself is not repeated: it may hold a password.
    const problems = parsed.error?.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`) ?? []
    throw new BadConfiguration([...new Set([...strange, ...problems])])
  }
  const it = parsed.data
  if (it.SQL_PORT !== undefined && it.CLICKHOUSE_URL)
    throw new BadConfiguration([
      'SQL_PORT is that of the embedded tables: with CLICKHOUSE_URL, analysts ask that server',
    ])
  const kafka = kafkaConfigOf(it)
  return {
    chain: chainOf(it, parsed.data as Record<string, unknown>),
    log: kafka ? { kind: 'kafka', ...kafka } : { kind: 'in-process' },
    publish: publishConfigOf(it),
    store: serverOf(it) ?? { kind: 'embedded' },
    pools: it.POOLS && new Set(it.POOLS as PoolId[]),
    retention: retentionOf(it),
    fsync: it.FSYNC === 'on',
    verifyShare: it.VERIFY_SHARE,
    proofShare: it.PROOF_SHARE,
    dataDir: resolve(it.DATA_DIR),
    host: it.HOST,
    port: it.PORT,
    apiProcesses: it.API_PROCESSES,
    adminPort: it.ADMIN_PORT,
    adminHost: it.ADMIN_HOST,
    sqlPort: it.SQL_PORT,
    sqlHost: it.SQL_HOST,
    readyTipSeconds: it.READY_TIP_SECONDS,
    corsOrigins: it.CORS_ORIGINS,
    embedOrigins: it.EMBED_ORIGINS,
    trustedProxies: it.TRUST_PROXY,
    bootstrapApiKey: it.BOOTSTRAP_API_KEY,
    logLevel: it.LOG_LEVEL,
    nearNames: nearNames(names, [...VARIABLES, ...ACCESS_VARIABLES]),
    isRunByNpm: given['npm_lifecycle_event'] !== undefined && given['npm_package_name'] === 'candlepool',
  }
}

const accessSchema = z.object({
  API_URL: z.url({ protocol: /^https?$/, error: 'is not an http(s) address' }).default('http://127.0.0.1:3000'),
  API_KEY: z
    .string(asTyped('is missing: the key that `npm start` or `npm run keys` prints'))
    .regex(KEY_CHARACTERS, 'is no key'),
})

/** The names of all that such processes read. */
export const ACCESS_VARIABLES: readonly string[] = Object.keys(accessSchema.shape)

/** For processes that only ask a running service. */
export function readServiceAccess(environment: Environment = process.env): ServiceAccess {
  const { data, error } = accessSchema.safeParse(environment)
  if (error) throw new BadConfiguration(error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`))
  return { url: data.API_URL.replace(/\/+$/, ''), key: data.API_KEY }
}

function chainOf(it: z.infer<typeof schema>, all: Record<string, unknown>): Config['chain'] {
  const { NETWORKS: named, VENUES: shared } = it
  const urlsOf = (name: NetworkName) => all[`${name.toUpperCase()}_RPC_URL`] as string[] | undefined
  const names = named ?? NETWORK_NAMES.filter((name) => urlsOf(name) !== undefined)
  const furtherVenues = venuesByNetwork(names, shared, all)
  if (names.length === 0) return { kind: 'devnet' }
  const proxies = proxiesOf(it)
  const headersOf = (name: NetworkName) => (all[`${name.toUpperCase()}_RPC_HEADERS`] as RpcHeader[] | undefined) ?? []
  const problems = names.flatMap((name) => {
    const variable = `${name.toUpperCase()}_RPC_HEADERS`
    const [urls, headers] = [urlsOf(name), headersOf(name)]
    if (urls) return headerProblems(variable, headers, urls)
    return headers.length > 0 ? [`${variable} needs ${name.toUpperCase()}_RPC_URL: public endpoints get no key`] : []
  })
  if (problems.length > 0) throw new BadConfiguration(problems)
  const networks = [...new Set(names)].map((name) => {
    const urls = urlsOf(name)
    const further = furtherVenues.get(name) ?? []
    return {
      network: further.length > 0 ? { ...NETWORKS[name], venues: further } : NETWORKS[name],
      urls: urls ?? PUBLIC_URLS[name],
      isPublic: urls === undefined,
      ...((proxies || headersOf(name).length > 0) && { access: { headers: headersOf(name), proxies } }),
      start: (all[`${name.toUpperCase()}_START`] as StartBlock | undefined) ?? DEFAULT_START,
      budget: all[`${name.toUpperCase()}_RPC_BUDGET`] as BudgetLimits | undefined,
      pollSeconds: all[`${name.toUpperCase()}_POLL`] as number | undefined,
      ...(it.HEADER_PROOF === 'off' && { headerProof: it.HEADER_PROOF }),
    }
  })
  return { kind: 'networks', networks }
}
