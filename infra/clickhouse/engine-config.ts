/** What the embedded ClickHouse is told: a small machine's caches and pools, and five users with just the rights they need. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** The one database of the engine; the rights of its users are written for it. */
export const ENGINE_DATABASE = 'candlepool'

/**
 * `owner` may do everything, `api` and `analyst` read the market, each within limits of its own, `accounts` reads and writes who may ask and
 * what they used.
 */
export const ENGINE_USERS = ['owner', 'api', 'accounts', 'analyst'] as const
export type EngineUser = (typeof ENGINE_USERS)[number]

export type EnginePaths = ReturnType<typeof enginePaths>

export function enginePaths(dataDir: string) {
  const engine = join(dataDir, 'engine')
  return {
    /** What the engine is told and says of itself. */
    engine,
    config: join(engine, 'config.xml'),
    users: join(engine, 'users.xml'),
    /** Made at the first start, then kept. */
    passwords: join(engine, 'passwords.json'),
    /** There while the engine answers. */
    running: join(engine, 'running.json'),
    log: join(engine, 'engine.log'),
    tables: join(dataDir, 'clickhouse'),
    /** Locked by the engine as long as it lives; holds its process id. */
    status: join(dataDir, 'clickhouse', 'status'),
    backups: join(dataDir, 'backups'),
  }
}

/** Holds the users' credentials, so it is for our eyes only; the port comes as an argument, so that the file is the same for every start. */
export function configXml(paths: EnginePaths, passwords: Record<EngineUser, string>, memoryLimitBytes: number): string {
  return `<clickhouse>
  <path>${xml(paths.tables)}/</path>
  <tmp_path>${xml(join(paths.tables, 'tmp'))}/</tmp_path>
  <user_files_path>${xml(join(paths.tables, 'user_files'))}/</user_files_path>
  <format_schema_path>${xml(join(paths.tables, 'format_schemas'))}/</format_schema_path>
  <backups><allowed_path>${xml(paths.backups)}/</allowed_path></backups>
  <users_config>${xml(paths.users)}</users_config>
  <listen_host>127.0.0.1</listen_host>
  <keep_alive_timeout>10</keep_alive_timeout>
${httpHandlersXml(passwords)}

  <log-level>warning</log-level>
  <logger>
    <log>${xml(paths.log)}</log>
    <size>1M</size>
    <count>2</count>
  </logger>

  <!-- No system log tables: an idle hour writes nothing. -->
  <max_server_memory_usage>${memoryLimitBytes}</max_server_memory_usage>
  <mark_cache_size>${64 * MiB}</mark_cache_size>
  <primary_index_cache_size>${32 * MiB}</primary_index_cache_size>
  <index_mark_cache_size>${8 * MiB}</index_mark_cache_size>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <index_uncompressed_cache_size>0</index_uncompressed_cache_size>
  <mmap_cache_size>0</mmap_cache_size>
  <compiled_expression_cache_size>${16 * MiB}</compiled_expression_cache_size>

  <!-- One thread merges: what is stored live, and whoever asks, has the other core. -->
  <background_pool_size>1</background_pool_size>
  <background_merges_mutations_concurrency_ratio>2</background_merges_mutations_concurrency_ratio>
  <background_common_pool_size>2</background_common_pool_size>
  <background_move_pool_size>1</background_move_pool_size>
  <background_fetches_pool_size>1</background_fetches_pool_size>
  <background_schedule_pool_size>8</background_schedule_pool_size>
  <!-- The defaults ask for more free slots than 1 × 2, and the engine would refuse to start. -->
  <merge_tree>
    <number_of_free_entries_in_pool_to_execute_mutation>2</number_of_free_entries_in_pool_to_execute_mutation>
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>2</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
    <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>2</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>

  <access_control_improvements>
    <select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
    <select_from_information_schema_requires_grant>true</select_from_information_schema_requires_grant>
    <settings_constraints_replace_previous>true</settings_constraints_replace_previous>
  </access_control_improvements>
</clickhouse>
`
}

/**
 * The port answers a request only if its `Authorization` header is that of a user with a password. Everything else gets 401 before the engine
 * looks at the user or the query: the passwordless `default`, the web pages, `/ping`, credentials in a URL.
 */
function httpHandlersXml(passwords: Record<EngineUser, string>): string {
  const credentials = ENGINE_USERS.map((user) => Buffer.from(`${user}:${passwords[user]}`).toString('base64'))
  const regex = `regex:Basic (${credentials.join('|').replaceAll('+', '[+]')})`
  const authorized = `<headers><Authorization>${regex}</Authorization></headers>`
  return `  <http_handlers>
    <rule>
      <url>/ping</url>
      ${authorized}
      <handler><type>ping</type></handler>
    </rule>
    <rule>
      ${authorized}
      <handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler>
    </rule>
    <rule>
      <handler>
        <type>static</type>
        <status>401</status>
        <content_type>text/plain; charset=UTF-8</content_type>
        <response_content>${UNAUTHORIZED}</response_content>
      </handler>
    </rule>
  </http_handlers>`
}

/** In the form of ClickHouse's errors, so that a client reads it as one. */
const UNAUTHORIZED =
  'Code: 516. DB::Exception: Authentication failed: the header Authorization does not name a user and their password. (AUTHENTICATION_FAILED)'

/**
 * `default` runs the start-up queries and can't have a password. It may have one session, which is the start-up's own: that one opens the port,
 * then waits for the end of standard input, so every other session of `default` is over the limit as long as the engine runs.
 * The engine demands no right for the scalar function `file()`, so a statement of `api` or `accounts` never holds text of a request, and the
 * password of `analyst` is in no hands but ours: see `infra/sql-port.ts`.
 */
export function usersXml(passwords: Record<EngineUser, string>): string {
  return `<clickhouse>
  <profiles>
    <default>
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
    </analyst>
  </profiles>
  <quotas>
    <default/>
    <startup><interval><duration>2147483647</duration><queries>2</queries></interval></startup>
  </quotas>
  <users>
    <default>
      <password/>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>startup</profile>
      <quota>startup</quota>
      <grants>
        <query>GRANT SYSTEM LISTEN ON *.*</query>
        <query>GRANT CREATE TEMPORARY TABLE ON *.*</query>
        <query>GRANT READ ON FILE</query>
      </grants>
    </default>
    <owner>
      ${authentication(passwords.owner)}
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
    </owner>
    <api>
      ${authentication(passwords.api)}
      <profile>api</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT SELECT ON ${ENGINE_DATABASE}.*</query>
        <query>REVOKE SELECT ON ${ENGINE_DATABASE}.api_keys</query>
        <query>REVOKE SELECT ON ${ENGINE_DATABASE}.usage</query>
        <query>REVOKE SELECT ON ${ENGINE_DATABASE}.credit_claims</query>
      </grants>
    </api>
    <accounts>
      ${authentication(passwords.accounts)}
      <profile>default</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT SELECT, INSERT ON ${ENGINE_DATABASE}.api_keys</query>
        <query>GRANT SELECT, INSERT ON ${ENGINE_DATABASE}.usage</query>
        <query>GRANT SELECT, INSERT ON ${ENGINE_DATABASE}.credit_claims</query>
      </grants>
    </accounts>
    <analyst>
      ${authentication(passwords.analyst)}
      <profile>analyst</profile>
      <quota>default</quota>
      <grants>
${ANALYST_TABLES.map((table) => `        <query>GRANT SELECT ON ${ENGINE_DATABASE}.${table}</query>`).join('\n')}
        <query>GRANT SELECT ON information_schema.*</query>
      </grants>
    </analyst>
  </users>
</clickhouse>
`
}

const MiB = 1024 * 1024

/** Of one question of the API; the engine's user can lower but not lift them. */
export const API_LIMITS = {
  max_memory_usage: String(512 * MiB),
  /** Seconds. */
  max_execution_time: 10,
  max_rows_to_read: '1000000000',
  max_result_rows: '5000000',
} as const

/** Of one statement of an analyst. One thread of two cores is left to what is stored live, and to the API. */
export const ANALYST_LIMITS = {
  max_threads: '1',
  max_memory_usage: String(1024 * MiB),
  /** Seconds. */
  max_execution_time: 60,
  max_concurrent_queries_for_user: 4,
} as const

/** The views, and what they read: a view has no rights of its own. */
const ANALYST_TABLES = [
  ...['market_pools', 'market_ticks', 'market_candles'],
  ...['pools', 'ticks', 'candles', 'blocks', 'liquidity_changes', 'pool_balance_hours'],
]

/** What drivers set. None of it reads a file, or makes another language of the text that is looked through before it is run. */
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

function authentication(password: string): string {
  const hash = createHash('sha256').update(password).digest('hex')
  return `<password_sha256_hex>${hash}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>`
}

function xml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
