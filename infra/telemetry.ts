/** Facts become log lines here, and nowhere else. */
import { pino } from 'pino'
import pretty from 'pino-pretty'
import type { AggregatorFact } from '../aggregator/fact.ts'
import type { ApiFact } from '../api/report.ts'
import type { IngestFact } from '../ingest/fact.ts'
import type { Report } from '../ingest/report.ts'
import type { EngineFact } from './clickhouse/engine.ts'
import type { Config } from './config.ts'
import type { DevnetFact } from './devnet/devnet.ts'
import type { LogFact } from './log/facts.ts'
import type { StoreFact } from './store.ts'

export type ProcessFact =
  | { kind: 'public-endpoint'; network: string; url: string; advice: string }
  | { kind: 'earlier-start'; network: string; wanted: number; stored: number; command: string }
  | { kind: 'another-devnet'; folder: string; replaces: string }
  | { kind: 'stage-restarted'; stage: string; network: string; error: unknown }
  | { kind: 'job-started'; network: string; job: number; from: number; to: number }
  | { kind: 'job-done'; network: string; job: number }
  | { kind: 'job-failed'; network: string; job: number; error: unknown }
  | { kind: 'audit-waiting'; network: string; error: unknown; retryMs: number }
  | { kind: 'stopping'; reason: string }

export type Fact = AggregatorFact | ApiFact | DevnetFact | EngineFact | IngestFact | LogFact | ProcessFact | StoreFact

type Level = 'debug' | 'info' | 'warn' | 'error'

/** One line each for what an operator would want to know, none for each request or block unless he asks for debug. */
const LEVELS: Readonly<Partial<Record<Fact['kind'], Level>>> = {
  'range-appended': 'debug',
  'block-appended': 'debug',
  'request-answered': 'debug',
  'usage-stored': 'debug',
  flushed: 'debug',
  restated: 'debug',
  audited: 'debug',
  'log-reading': 'info',
  'kafka-client': 'debug',
  'pool-skipped': 'debug',
  'range-split': 'debug',
  'devnet-history': 'debug',
  'rpc-failed': 'warn',
  'endpoint-behind': 'warn',
  'endpoint-disabled': 'error',
  'log-broken': 'warn',
  'balances-unread': 'warn',
  'store-failed': 'warn',
  'store-waiting': 'warn',
  'log-retried': 'warn',
  'log-parts-dropped': 'warn',
  'log-begins-later': 'warn',
  'devnet-state-unusable': 'warn',
  'devnet-block-failed': 'warn',
  'another-devnet': 'warn',
  'public-endpoint': 'warn',
  'earlier-start': 'warn',
  'usage-not-stored': 'warn',
  'unknown-plan': 'warn',
  'stage-restarted': 'warn',
  'job-failed': 'warn',
  'rebuild-failed': 'warn',
  'audit-found': 'warn',
  'audit-waiting': 'warn',
  'endpoint-omitted-logs': 'warn',
  republishing: 'warn',
  'backfill-waiting': 'warn',
  stalled: 'error',
  'message-rejected': 'error',
  'rejected-not-copied': 'error',
  'request-failed': 'error',
}

export function createReport(level: Config['logLevel']): Report<Fact> {
  const logger = process.stderr.isTTY
    ? pino({ level }, pretty({ destination: 2, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', singleLine: true }))
    : pino({ level }, pino.destination(2))
  return (fact) => {
    const { kind, ...fields } = fact
    const level = LEVELS[kind] ?? 'info'
    if (!logger.isLevelEnabled(level)) return
    const error = 'error' in fields ? { error: describeError(fields.error) } : {}
    logger[level](plain({ ...fields, ...error }), kind.replaceAll('-', ' '))
  }
}

/** JSON has no bigint, and an address of an endpoint may hold a key. */
function plain(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (typeof value === 'bigint') return [name, value.toString()]
      if (typeof value === 'string') return [name, withoutSecrets(value)]
      return [name, value]
    }),
  )
}

/** The messages along the chain of causes, each once. */
export function describeError(error: unknown): string {
  const messages: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { shortMessage, details } = cause as Error & { shortMessage?: string; details?: string }
    const message = shortMessage ? [shortMessage, details].filter(Boolean).join(' ') : cause.message
    if (!messages.some((known) => known.includes(message))) messages.push(message)
  }
  return withoutSecrets(messages.join(': ') || String(error))
}

/** Of an address only scheme and host stay: paths, queries and users of RPC endpoints are keys. */
export function withoutSecrets(text: string): string {
  return text.replace(/\b(https?|wss?):\/\/[^\s"'<>)]+/g, (address) => {
    const parsed = URL.canParse(address) ? new URL(address) : undefined
    return parsed ? `${parsed.protocol}//${parsed.host}` : 'an address'
  })
}
