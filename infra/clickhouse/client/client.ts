/** A ClickHouse client whose settings don't depend on the server's defaults. */

import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings } from '@clickhouse/client'
import { openClient } from './requests.ts'
import { watchedCommand } from './watched-command.ts'

export type ClickHouseConnection = {
  url: string
  username: string
  password: string
  /** The variable that the password is from, for the error of a server that refuses it. */
  passwordFrom?: string
  database: string
  settings?: ClickHouseSettings
  /** How many requests may be under way at once. */
  maxOpenConnections?: number
  requestTimeoutMs?: number
}

/** Statements have no time limit: see `watchedCommand`. Questions and inserts have `requestTimeoutMs`. */
export function connect(connection: ClickHouseConnection): ClickHouseClient {
  const client = open(connection)
  const unlimited = open({ ...connection, requestTimeoutMs: UNLIMITED_MS })
  const close = client.close.bind(client)
  return Object.assign(client, {
    command: watchedCommand(client, unlimited),
    close: () => Promise.all([close(), unlimited.close()]).then(() => undefined),
  })
}

/** Requests at once of one client. */
export const MAX_OPEN = 10

/** The longest that a timer takes, 24 days. */
const UNLIMITED_MS = 2 ** 31 - 1

function open(connection: ClickHouseConnection): ClickHouseClient {
  const {
    url,
    username,
    password,
    passwordFrom,
    database,
    settings,
    maxOpenConnections = MAX_OPEN,
    requestTimeoutMs = 60_000,
  } = connection
  return openClient({
    url,
    username,
    password,
    ...(passwordFrom !== undefined && { passwordFrom }),
    database,
    application: 'candlepool',
    max_open_connections: maxOpenConnections,
    request_timeout: requestTimeoutMs,
    // Compression costs more than it saves where nothing leaves the machine.
    compression: { request: false, response: !isLoopback(url) },
    // Errors reach the caller; the stages report them.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: { ...SETTINGS, ...settings },
  })
}

const SETTINGS = {
  // An insert is answered once it is stored.
  async_insert: 0,
  // Rows are keyed and versioned; dropping a block of rows because an equal one was seen would lose a tombstone's successor.
  insert_deduplicate: 0,
  // Rows of one insert that share a key are deduplicated by reads, like rows of two inserts: to do it in the insert takes a third longer.
  optimize_on_insert: 0,
  distributed_foreground_insert: 1,
  // 64-bit integers come as strings: JSON numbers would round them.
  output_format_json_quote_64bit_integers: 1,
  date_time_output_format: 'iso',
  date_time_input_format: 'best_effort',
  session_timezone: 'UTC',
  // Threads that write rows as text cost a short answer more than they save a long one.
  output_format_parallel_formatting: 0,
  // An error after the first rows must not look like an end.
  wait_end_of_query: 0,
  // The key decides first which rows are read at all, also where FINAL then takes the newest of them.
  optimize_move_to_prewhere_if_final: 1,
  // Filtering a key's newest row must not be answered from a cache that is a merge behind.
  use_query_cache: 0,
} satisfies ClickHouseSettings

export function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)
}
