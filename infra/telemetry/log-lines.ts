/** Facts become log lines here, and nowhere else: JSON for machines, readable ones on a terminal. */
import { type DestinationStream, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Report } from '../../ingest/model/report.ts'
import { RpcFailed } from '../../ingest/rpc/rpc-error.ts'
import type { Config } from '../config/config.ts'
import { inOneLine } from '../lib/output.ts'
import { describeError } from './describe-error.ts'
import type { Fact } from './fact.ts'
import { LOG_MESSAGES } from './log-messages.ts'

/** An outage is one event, however many requests and blocks it fails. */
const THROTTLED: ReadonlySet<Fact['kind']> = new Set([
  'request-failed',
  'usage-not-stored',
  'log-broken',
  'balances-unread',
  'rpc-failed',
  'endpoint-recovered',
  'backfill-waiting',
  'audit-waiting',
  'store-failed',
  'publish-failed',
  'verify-failed',
])

const QUIET_MS = 10_000
/** Texts that differ each time must not fill the memory. */
const MAX_TEXTS = 1_000

/** `hide` takes secrets out of a text. */
export function openLogLines(
  level: Config['logLevel'],
  hide: (text: string) => string,
  destination: DestinationStream = standardError(),
): Report<Fact> {
  const logger = pino({ level }, destination)
  const shown = (text: string) => inOneLine(hide(text))
  const repeats = openLogThrottle()
  return (fact) => {
    const [worth, sentence] = LOG_MESSAGES[fact.kind]
    if (!logger.isLevelEnabled(worth)) return
    const { kind, ...fields } = fact
    const alike = THROTTLED.has(kind) ? repeats(eventOf(fact)) : 0
    if (alike === undefined) return
    logger[worth](
      { kind, ...(redacted(fields, shown) as object), ...(alike > 0 && { alike }) },
      `${kind.replaceAll('-', ' ')}: ${sentence}`,
    )
  }
}

/** Lets one of equal lines pass in ten seconds. The number of equal lines suppressed since the last one; undefined where this one is suppressed too. */
function openLogThrottle(): (text: string) => number | undefined {
  const known = new Map<string, { quietUntil: number; suppressed: number }>()
  return (text) => {
    const now = Date.now()
    const before = known.get(text)
    if (before && now < before.quietUntil) {
      before.suppressed += 1
      return undefined
    }
    if (known.size >= MAX_TEXTS) known.clear()
    known.set(text, { quietUntil: now + QUIET_MS, suppressed: 0 })
    return before?.suppressed ?? 0
  }
}

function standardError(): DestinationStream {
  return process.stderr.isTTY
    ? pretty({ destination: 2, ignore: 'pid,hostname,kind', translateTime: 'HH:MM:ss', singleLine: true })
    : pino.destination(2)
}

/** Failures of one endpoint are one event: a fault shows in many texts. */
function eventOf(fact: Fact): string {
  const network = 'network' in fact ? fact.network : ''
  if (fact.kind === 'endpoint-recovered') return `${fact.kind} ${network} ${fact.endpoint}`
  const failed = 'error' in fact && fact.error instanceof RpcFailed ? fact.error.endpoint : undefined
  const endpoint = fact.kind === 'rpc-failed' ? (fact.endpoint ?? failed) : failed
  if (endpoint !== undefined) return `endpoint ${network} ${endpoint}`
  return `${fact.kind} ${network} ${reasonOf(fact)}`
}

function reasonOf(fact: Fact): string {
  if ('error' in fact) return describeError(fact.error)
  return 'reason' in fact ? fact.reason : ''
}

/** JSON has no bigint, errors have no fields of their own, and any text may quote an address or have control characters. */
function redacted(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return hide(describeError(value))
  if (Array.isArray(value)) return value.map((item) => redacted(item, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, redacted(field, hide)]))
}
