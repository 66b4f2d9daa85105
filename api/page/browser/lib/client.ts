/// <reference lib="dom" />
/** Requests to the page's own service, with the key only in a header. */
import type { z } from 'zod'
import type { ProblemBody } from '../../../lib/problem.ts'
import type { PairsBody } from '../../../routes/page-pairs.ts'
import type { SCHEMAS } from '../../../schema/answers.ts'
import { refusalOf, unreachable } from './refusal.ts'
import { untilVisible } from './wait.ts'

type Body<Name extends keyof typeof SCHEMAS> = z.output<(typeof SCHEMAS)[Name]>

export type Bodies = {
  candles: Body<'Candles'>
  ticks: Body<'Ticks'>
  pools: Body<'Pools'>
  usage: Body<'Usage'>
  pairs: PairsBody
}
export type PairRow = PairsBody['data'][number]
export type PoolBody = Bodies['pools']['data'][number]
export type CreditUsage = Bodies['usage']['credits']

export type ApiAnswer<Content> = {
  body: Content
  /** The pool that answered; empty where the answer is of no pool. */
  network: string
  pair: string
  /** The network is a devnet. */
  devnet: boolean
  /** The range is not stored completely. */
  incomplete: boolean
}

/** Rejects with a `Refusal`, or with the signal's reason. */
export type QueryApi = <Name extends keyof Bodies>(
  what: Name,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<ApiAnswer<Bodies[Name]>>

/** Timeout of an answer. */
const TIMEOUT_MS = 20_000

export function openClient(key: string): QueryApi {
  return async function ask(what, query, signal) {
    await untilVisible(signal)
    const search = new URLSearchParams(query).toString()
    let answer: Response
    let text: string
    try {
      answer = await fetch(`${what === 'pairs' ? '/page' : '/v0'}/${what}${search === '' ? '' : `?${search}`}`, {
        headers: { 'X-API-KEY': key },
        credentials: 'omit',
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      text = await answer.text()
    } catch {
      signal.throwIfAborted()
      throw unreachable()
    }
    const body = parsed(text)
    if (!answer.ok || body === undefined) {
      const { code, message, errors } = (body ?? {}) as Partial<ProblemBody>
      const details = errors?.map((error) => `${error.field} ${error.message}`).join('; ')
      const said = details ?? message ?? `The service answered with ${answer.status}.`
      throw refusalOf(answer.ok ? 502 : answer.status, code, said, answer.headers.get('Retry-After'))
    }
    const { headers } = answer
    return {
      body: body as never,
      network: headers.get('X-Market-Network') ?? '',
      pair: decodeURIComponent(headers.get('X-Market-Pair') ?? ''),
      devnet: headers.get('X-Candlepool-Devnet') === 'true',
      incomplete: headers.has('X-Market-Incomplete'),
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
