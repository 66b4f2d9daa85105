/** The users of the embedded ClickHouse, with just the rights they need. */
import { createHash } from 'node:crypto'

/** The one database of the engine; the rights of its users are written for it. */
export const ENGINE_DATABASE = 'candlepool'

/** `owner` has all rights; `api` and `analyst` read the market within their limits; `accounts` reads and writes keys and usage. */
export const ENGINE_USERS = ['owner', 'api', 'accounts', 'analyst'] as const
export type EngineUser = (typeof ENGINE_USERS)[number]

const MiB = 1024 * 1024

/**
 * `default` runs the start-up queries and can't have a password. It may have one session: that of the start-up, which opens the port and then
 * waits for the end of standard input, so that every other session of `default` exceeds the limit while the engine runs.
 * The engine checks no right for the scalar function `file()`. So statements of `api` and `accounts` never contain text of a request, and the
 * password of `analyst` never leaves this process: see `infra/clickhouse/sql-port.ts`.
 */
export function usersXml(passwords: Record<EngineUser, string>): string {
  return `<clickhouse>
  <profiles>
${profilesXml()}
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

function profilesXml(): string {
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
${Object.entries(API_LIMITS)
  .map(([setting, limit]) => `      <${setting}>${limit}</${setting}>`)
  .join('\n')}
      <constraints>
${Object.entries(API_LIMITS)
  .map(([setting, limit]) => `        <${setting}><min>1</min><max>${limit}</max></${setting}>`)
  .join('\n')}
      </constraints>
    </api>
    <analyst>
      <readonly>1</readonly>
      <cancel_http_readonly_queries_on_client_close>1</cancel_http_readonly_queries_on_client_close>
${Object.entries(ANALYST_LIMITS)
  .map(([setting, limit]) => `      <${setting}>${limit}</${setting}>`)
  .join('\n')}
      <constraints>
${ANALYST_SETTINGS.map((setting) => `        <${setting}><changeable_in_readonly/></${setting}>`).join('\n')}
      </constraints>
    </analyst>`
}

function grantedUsersXml(passwords: Record<EngineUser, string>): string {
  const ofAccounts = ['api_keys', 'usage', 'credit_claims'].map((table) => `${ENGINE_DATABASE}.${table}`)
  const revoked = ofAccounts.map((table) => `REVOKE SELECT ON ${table}`)
  const granted = ofAccounts.map((table) => `GRANT SELECT, INSERT ON ${table}`)
  const views = ANALYST_TABLES.map((table) => `GRANT SELECT ON ${ENGINE_DATABASE}.${table}`)
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
${userXml('analyst', passwords, 'analyst', grantsXml(...views, 'GRANT SELECT ON information_schema.*'))}`
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

/** Limits of one statement of an analyst. One thread: on two cores, the other is left to live inserts and the API. */
export const ANALYST_LIMITS = {
  max_threads: '1',
  max_memory_usage: String(1024 * MiB),
  /** Seconds. */
  max_execution_time: 60,
  max_concurrent_queries_for_user: 4,
} as const

/** The views and the tables that they read: a view runs with the rights of its caller. */
const ANALYST_TABLES = [
  ...['market_pools', 'market_ticks', 'market_candles'],
  ...['pools', 'ticks', 'candles', 'blocks', 'liquidity_changes', 'pool_balance_hours'],
]

/** Settings that drivers change. None reads a file or changes the SQL dialect, which `sql-port.ts` relies on when it checks a statement. */
const ANALYST_SETTINGS = [
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
