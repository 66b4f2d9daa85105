/** One step against Kafka, repeated until it is done: brokers come back, and nothing may be dropped meanwhile. */
import { onAbort, type RetryOptions, retried } from '../../../ingest/lib/wait.ts'
import type { Report } from '../../../ingest/model/report.ts'
import { LogClosed, LogRefused } from './errors.ts'
import type { LogFact } from './facts.ts'
import { explained } from './hints.ts'

/** Answers that waiting does not change. */
const REFUSALS: ReadonlySet<string> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'SASL_AUTHENTICATION_FAILED',
  'SASL_TOKEN_REFUSED',
  'ILLEGAL_SASL_STATE',
  'UNSUPPORTED_SASL_MECHANISM',
  'INVALID_TOPIC_EXCEPTION',
  'POLICY_VIOLATION',
  'UNSUPPORTED_VERSION',
])

/**
 * kafkajs's own retries; `retryStep` retries after them. Bounded, because endless ones continue after a disconnect. All fields are set, because
 * the defaults differ under NODE_ENV=test.
 */
export const CLIENT_RETRY = { initialRetryTime: 100, maxRetryTime: 1000, factor: 0.2, multiplier: 2, retries: 5 }

/**
 * For a member of a group: about half a minute, in which a broker restarts. A member that keeps retrying keeps its membership
 * and resumes; one that joined again would wait for the session timeout of its old membership.
 */
export const OUTAGE_RETRY = { ...CLIENT_RETRY, retries: 30 }

const BACK_OFF = { firstMs: 100, maxMs: 5_000, jitter: 0.5 }

export type RetryContext = { topic: string; report: Report<LogFact>; closed: AbortSignal }
type Step = Extract<LogFact, { kind: 'log-retried' }>['step']

/** Rejects with `LogRefused` where trying again is useless and with `LogClosed` as soon as `closed` aborts, else tries for ever. */
export function retryStep<T>(step: Step, context: RetryContext, work: () => Promise<T>): Promise<T> {
  const { topic, closed } = context
  const whileOpen = async () => {
    if (closed.aborted) throw new LogClosed(topic)
    return unlessAborted(work(), closed, () => new LogClosed(topic))
  }
  return retried(whileOpen, retriesOf(step, context))
}

export function retriesOf(step: Step, { topic, report, closed }: RetryContext): RetryOptions {
  return {
    ...BACK_OFF,
    signal: closed,
    failed(error, waitMs, attempt) {
      if (error instanceof LogClosed) throw error
      const refusal = refusalOf(topic, step, error)
      if (refusal) throw refusal
      report({ kind: 'log-retried', topic, step, attempt, waitMs, error: explained(textOf(error)) })
    },
  }
}

export function refusalOf(topic: string, step: Step, cause: unknown): LogRefused | undefined {
  const code = kafkaCodes(cause).find((candidate) => REFUSALS.has(candidate))
  return code === undefined ? undefined : new LogRefused(topic, step, code, { cause })
}

export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, error: () => Error): Promise<T> {
  let forget = () => {}
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => reject(error()))
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    forget()
  }
}

/** The protocol's error codes along the chain of causes, which kafkajs calls `type`; an answer on several topics has one error for each. */
export function kafkaCodes(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  // The protocol's error is only in the text of this one.
  const isSasl = error.name === 'KafkaJSSASLAuthenticationError'
  const type = isSasl ? 'SASL_AUTHENTICATION_FAILED' : 'type' in error ? error.type : undefined
  const code = typeof type === 'string' ? [type] : []
  const each = 'errors' in error && Array.isArray(error.errors) ? error.errors.flatMap(kafkaCodes) : []
  return [...code, ...each, ...kafkaCodes(error.cause)]
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
