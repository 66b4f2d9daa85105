/** The configuration of the embedded ClickHouse: caches and pools for a small machine, requests that its port answers, files that its process may open. */
import { join } from 'node:path'
import { ENGINE_USERS, type EngineUser } from './engine-users.ts'

export type EnginePaths = ReturnType<typeof enginePaths>

export function enginePaths(dataDir: string) {
  const engine = join(dataDir, 'engine')
  return {
    /** Configuration, passwords and state of the engine. Its process cannot open these files once it serves. */
    engine,
    config: join(engine, 'config.xml'),
    users: join(engine, 'users.xml'),
    /** Made at the first start, then kept. */
    passwords: join(engine, 'passwords.json'),
    /** There while the engine answers. */
    running: join(engine, 'running.json'),
    /** The engine adds to these files, and cannot read them. */
    logs: join(engine, 'log'),
    log: join(engine, 'log', 'engine.log'),
    tables: join(dataDir, 'clickhouse'),
    /** Locked by the engine as long as it lives; holds its process id. */
    status: join(dataDir, 'clickhouse', 'status'),
    backups: join(dataDir, 'backups'),
  }
}

/** An engine of a cluster: more configuration, without its root, and the TCP ports at which it and the other servers listen for each other. */
export type EngineShard = { xml: string; ports: readonly number[] }

/** As `restrict` of landlock.mjs reads it. */
export type EngineAllowance = {
  read: readonly string[]
  append: readonly string[]
  change: readonly string[]
  listen: readonly number[]
  connect: readonly number[]
}

/**
 * All that the engine's process may open: statements that pass the rules of SQL_PORT by mistake read no other file and reach no other server. Of
 * /proc the files that its memory limit needs, and no folder: a process has its environment there.
 */
export function allowanceOf(paths: EnginePaths, library: string, port: number, shard?: EngineShard): EngineAllowance {
  const { ports = [] } = shard ?? {}
  const proc = ['meminfo', 'cpuinfo', 'stat', 'self/statm', 'self/cgroup', 'self/maps'].map((name) => `/proc/${name}`)
  return {
    // With the library, a stack trace in the log has addresses that a maintainer of the engine can use.
    read: [library, ...proc, '/sys/fs/cgroup', '/sys/devices/system/cpu', '/dev/urandom'],
    append: [paths.logs],
    change: [paths.tables, paths.backups],
    listen: [port, ...ports],
    connect: ports,
  }
}

/** Holds the users' credentials, so only this user may read it; the port comes as an argument, so that the file is the same for every start. */
export function configXml(
  paths: EnginePaths,
  passwords: Record<EngineUser, string>,
  memoryLimitBytes: number,
  shard?: EngineShard,
): string {
  return `<clickhouse>
  <path>${xml(paths.tables)}/</path>
  <tmp_path>${xml(join(paths.tables, 'tmp'))}/</tmp_path>
  <user_files_path>${xml(join(paths.tables, 'user_files'))}/</user_files_path>
  <format_schema_path>${xml(join(paths.tables, 'format_schemas'))}/</format_schema_path>
  <backups><allowed_path>${xml(paths.backups)}/</allowed_path></backups>
  <listen_host>127.0.0.1</listen_host>
  <keep_alive_timeout>10</keep_alive_timeout>
${httpHandlersXml(passwords)}

  <log-level>warning</log-level>
  <logger>
    <log>${xml(paths.log)}</log>
    <size>1M</size>
    <count>2</count>
    <!-- To compress a file, the engine would have to read it. -->
    <compress>false</compress>
    <!-- It warns of each thread whose counters in /proc are out of reach. -->
    <levels><logger><name>ThreadStatus</name><level>none</level></logger></levels>
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

  <!-- One merge thread: on two cores, inserts and queries have the other. -->
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
${shard?.xml ?? ''}
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

const MiB = 1024 * 1024

function xml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
