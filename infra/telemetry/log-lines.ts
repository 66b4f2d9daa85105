/** Facts become log lines here, and nowhere else: JSON for machines, readable ones on a terminal. */
import { type DestinationStream, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Report } from '../../ingest/model/report.ts'
import type { Config } from '../config/config.ts'
import { describeError } from './describe-error.ts'
import type { Fact } from './fact.ts'
import { LOG_MESSAGES } from './log-messages.ts'
import { openLogThrottle } from './log-throttle.ts'

/** An outage is one event, however many requests and blocks it fails. */
const THROTTLED: ReadonlySet<Fact['kind']> = new Set([
  'request-failed',
  'usage-not-stored',
  'log-broken',
  'balances-unread',
])

/** `hide` takes secrets out of a text. */
export function openLogLines(
  level: Config['logLevel'],
  hide: (text: string) => string,
  destination: DestinationStream = standardError(),
): Report<Fact> {
  const logger = pino({ level }, destination)
  const repeats = openLogThrottle()
  return (fact) => {
    const [worth, sentence] = LOG_MESSAGES[fact.kind]
    if (!logger.isLevelEnabled(worth)) return
    const { kind, ...fields } = fact
    const alike = THROTTLED.has(kind) ? repeats(`${kind} ${reasonOf(fact)}`) : 0
    if (alike === undefined) return
    logger[worth](
      { kind, ...(redacted(fields, hide) as object), ...(alike > 0 && { alike }) },
      `${kind.replaceAll('-', ' ')}: ${sentence}`,
    )
  }
}

function standardError(): DestinationStream {
  return process.stderr.isTTY
    ? pretty({ destination: 2, ignore: 'pid,hostname,kind', translateTime: 'HH:MM:ss', singleLine: true })
    : pino.destination(2)
}

function reasonOf(fact: Fact): string {
  if ('error' in fact) return describeError(fact.error)
  return 'reason' in fact ? fact.reason : ''
}

/** JSON has no bigint, errors have no fields of their own, and any text may quote an address. */
function redacted(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return hide(describeError(value))
  if (Array.isArray(value)) return value.map((item) => redacted(item, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, redacted(field, hide)]))
}
