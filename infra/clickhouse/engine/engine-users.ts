/** The users of the embedded ClickHouse, with just the rights they need. */
import { createHash } from 'node:crypto'

/** The one database of the engine; the rights of its users are written for it. */
export const ENGINE_DATABASE = 'candlepool'

/**
 * `owner` has all rights; `api` reads the market within limits; `accounts` reads and writes keys and usage; `analyst` reads the market's views within
 * limits; `parser` reads nothing: it parses the statements of analysts.
 */
export const ENGINE_USERS = ['owner', 'api', 'accounts', 'analyst', 'parser'] as const
export type EngineUser = (typeof ENGINE_USERS)[number]

/** With its rights the views of the market read their tables. No connection may be that user's. */
export const VIEWS_USER = 'views'

/** The tables that an analyst reads. */
export const MARKET_VIEWS = ['market_pools', 'market_ticks', 'market_candles'] as const

/** The lower number is the higher priority; 0, that of inserts, neither waits nor is waited for. */
export const API_PRIORITY = '1'

const MiB = 1024 * 1024

/**
 * `default` runs the start-up queries and can't have a password. It may have one session: that of the start-up, which opens the port and then
 * waits for the end of standard input, so that every other session of `default` exceeds the limit while the engine runs.
 * The engine checks no right for the scalar function `file()`. So statements of `api` and `accounts` never contain text of a request, and the
 * password of `analyst` never leaves this process: see `infra/clickhouse/sql-port/sql-port.ts`. `memoryLimitBytes`: that of the engine.
 */
export function usersXml(passwords: Record<EngineUser, string>, memoryLimitBytes: number): string {
  return `<clickhouse>
  <profiles>
${profilesXml(memoryLimitBytes)}
  </profiles>
  <quotas>
    <default/>
    <startup><interval><duration>2147483647</duration><queries>2</queries></interval></startup>
  </quotas>
  <users>
${grantedUsersXml(passwords)}
  </users>
</clickhouse>
`
}

function profilesXml(memoryLimitBytes: number): string {
  return `    <default>
      <async_insert>0</async_insert>
      <insert_deduplicate>0</insert_deduplicate>
      <log_queries>0</log_queries>
    </default>
    <startup>
      <max_sessions_for_user>1</max_sessions_for_user>
      <constraints><max_sessions_for_user><const/></max_sessions_for_user></constraints>
    </startup>
    <api>
      <readonly>2</readonly>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
${settingsXml(API_LIMITS)}
      <constraints>
${Object.entries(API_LIMITS)
  .map(([setting, limit]) => `        <${setting}><min>1</min><max>${limit}</max></${setting}>`)
  .join('\n')}
      </constraints>
    </api>
    <analyst>
      <readonly>1</readonly>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
${settingsXml({ ...ANALYST_LIMITS, ...PARSING, ...analystMemory(memoryLimitBytes) })}
      <constraints>
${ANALYST_SETTINGS.map((setting) => `        <${setting}><changeable_in_readonly/></${setting}>`).join('\n')}
        <max_execution_time><min>1</min><max>${ANALYST_LIMITS.max_execution_time}</max><changeable_in_readonly/></max_execution_time>
      </constraints>
    </analyst>
    <parser>
      <readonly>1</readonly>
${settingsXml({ ...PARSER_LIMITS, ...PARSING })}
    </parser>`
}

function settingsXml(settings: Record<string, string | number>): string {
  return Object.entries(settings)
    .map(([setting, value]) => `      <${setting}>${value}</${setting}>`)
    .join('\n')
}

function grantedUsersXml(passwords: Record<EngineUser, string>): string {
  const ofAccounts = ['api_keys', 'usage', 'credit_claims'].map((table) => `${ENGINE_DATABASE}.${table}`)
  const revoked = ofAccounts.map((table) => `REVOKE SELECT ON ${table}`)
  const granted = ofAccounts.map((table) => `GRANT SELECT, INSERT ON ${table}`)
  const select = (tables: readonly string[]) => tables.map((table) => `GRANT SELECT ON ${ENGINE_DATABASE}.${table}`)
  return `    <default>
      <password/>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>startup</profile>
      <quota>startup</quota>
      ${grantsXml('GRANT SYSTEM LISTEN ON *.*', 'GRANT CREATE TEMPORARY TABLE ON *.*', 'GRANT READ ON FILE')}
    </default>
${userXml('owner', passwords, 'default', '<access_management>1</access_management>')}
${userXml('api', passwords, 'api', grantsXml(`GRANT SELECT ON ${ENGINE_DATABASE}.*`, ...revoked))}
${userXml('accounts', passwords, 'default', grantsXml(...granted))}
${userXml('analyst', passwords, 'analyst', grantsXml(...select(MARKET_VIEWS)))}
${userXml('parser', passwords, 'parser', grantsXml())}
    <${VIEWS_USER}>
      <no_password/>
      <networks/>
      <profile>default</profile>
      <quota>default</quota>
      ${grantsXml(...select(VIEWED_TABLES))}
    </${VIEWS_USER}>`
}

function userXml(name: EngineUser, passwords: Record<EngineUser, string>, profile: string, rights: string): string {
  return `    <${name}>
      <password_sha256_hex>${createHash('sha256').update(passwords[name]).digest('hex')}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>${profile}</profile>
      <quota>default</quota>
      ${rights}
    </${name}>`
}

function grantsXml(...statements: readonly string[]): string {
  return `<grants>
${statements.map((statement) => `        <query>${statement}</query>`).join('\n')}
      </grants>`
}

/** Limits of one query of the API; the user `api` can lower but not raise them. */
export const API_LIMITS = {
  max_memory_usage: String(512 * MiB),
  /** Seconds. */
  max_execution_time: 10,
  max_rows_to_read: '1000000000',
  max_result_rows: '5000000',
} as const

/** Limits of an analyst's statement. One thread: on two cores, the other is left to live inserts and the API. */
export const ANALYST_LIMITS = {
  max_threads: 1,
  /** Where the process may change it, else without effect. */
  os_threads_nice_value_query: 19,
  /** It waits between two blocks while a query of the API runs, which has `API_PRIORITY`: for a second at the most, by the engine's default. */
  priority: 2,
  /** Seconds. */
  max_execution_time: 60,
  max_concurrent_queries_for_user: 4,
} as const

/** All statements of analysts together have a quarter of the engine's memory, and spill at most 1 GiB to the disk. */
function analystMemory(memoryLimitBytes: number) {
  const memory = Math.floor(memoryLimitBytes / 4)
  return {
    max_memory_usage: memory,
    max_memory_usage_for_user: memory,
    max_temporary_data_on_disk_size_for_user: 1024 * MiB,
  }
}

const PARSER_LIMITS = {
  max_threads: 1,
  max_execution_time: 5,
  max_memory_usage: 128 * MiB,
  max_result_bytes: 16 * MiB,
}

/** The same for both users, so that both parse a statement into the same tree. With `implicit_select`, `a = 1` would be a statement. */
const PARSING = { implicit_select: 0, max_query_size: 262_144, max_ast_elements: 20_000, max_ast_depth: 500 }

/** The tables that the views read; market_ticks and market_candles read market_pools. */
const VIEWED_TABLES = ['pools', 'token_names', 'ticks', 'candles', 'market_pools']

/** Settings that tools change. None reads a file or changes how a statement is parsed. */
export const ANALYST_SETTINGS = [
  'session_timezone',
  'date_time_input_format',
  'date_time_output_format',
  'output_format_json_quote_64bit_integers',
  'output_format_binary_write_json_as_string',
  'output_format_native_encode_types_in_binary_format',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'enable_http_compression',
]
