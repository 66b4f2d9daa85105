/// <reference lib="dom" />
/** Requests to the page's own service, with the key only in a header. */
import type { z } from 'zod'
import type { ProblemBody } from '../../../../lib/problem.ts'
import type { SCHEMAS } from '../../../../schema/answers.ts'
import { eventsOf, type StreamEvent } from '../../../clients/typescript/src/stream.ts'
import type { PoolListBody } from '../../../pool-lists/operation.ts'
import { type Refusal, refusalOf, unreachable } from './refusal.ts'
import { untilVisible } from './wait.ts'

type Body<Name extends keyof typeof SCHEMAS> = z.output<(typeof SCHEMAS)[Name]>

export type Bodies = {
  candles: Body<'Candles'>
  ticks: Body<'Ticks'>
  pools: Body<'Pools'>
  usage: Body<'Usage'>
  'pools/top': PoolListBody
  'pools/new': PoolListBody
}
export type ListedPoolRow = PoolListBody['data'][number]
export type PoolBody = Bodies['pools']['data'][number]
export type CreditUsage = Bodies['usage']['credits']

export type ApiAnswer<Content> = {
  body: Content
  /** The pool that answered; empty where the answer is of no pool. */
  network: string
  pair: string
  /** `network/id` of the pool that leads the pair; empty where the answer lists no pools. */
  lead: string
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

/** Rejects as `QueryApi` does; the events, where nothing has come for a while, or the connection broke. */
export type StreamApi = (
  what: 'candles' | 'ticks',
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<{ incomplete: boolean; events: AsyncGenerator<StreamEvent> }>

/** Timeout of an answer. */
const TIMEOUT_MS = 20_000
/** Longer than between the heartbeats of a stream: a connection may be lost without an end. */
const QUIET_MS = 40_000

export function openClient(key: string): { ask: QueryApi; stream: StreamApi } {
  return { ask, stream }

  async function ask<Name extends keyof Bodies>(
    what: Name,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ApiAnswer<Bodies[Name]>> {
    await untilVisible(signal)
    let answer: Response
    let text: string
    try {
      answer = await send(what, query, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]))
      text = await answer.text()
    } catch {
      signal.throwIfAborted()
      throw unreachable()
    }
    const body = parsed(text)
    if (!answer.ok || body === undefined) throw refused(answer, body)
    const { headers } = answer
    return {
      body: body as never,
      network: headers.get('X-Market-Network') ?? '',
      lead: headers.get('X-Market-Lead-Pool') ?? '',
      pair: decodeURIComponent(headers.get('X-Market-Pair') ?? ''),
      devnet: headers.get('X-Candlepool-Devnet') === 'true',
      incomplete: headers.has('X-Market-Incomplete'),
    }
  }

  async function stream(...[what, query, signal]: Parameters<StreamApi>): ReturnType<StreamApi> {
    const lost = new AbortController()
    const expect = () => setTimeout(() => lost.abort(unreachable()), QUIET_MS)
    let timer = expect()
    const headers = { Accept: 'text/event-stream' }
    const answer = await send(what, query, AbortSignal.any([signal, lost.signal]), headers)
    if (!answer.ok || answer.body === null) throw refused(answer, parsed(await answer.text()))
    const seen = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        clearTimeout(timer)
        timer = expect()
        out.enqueue(chunk)
      },
    })
    return {
      incomplete: answer.headers.has('X-Market-Incomplete'),
      events: eventsOf(answer.body.pipeThrough(seen)),
    }
  }

  function send(
    what: keyof Bodies,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const search = new URLSearchParams(query).toString()
    return fetch(`/v0/${what}${search === '' ? '' : `?${search}`}`, {
      headers: { 'X-API-KEY': key, ...headers },
      credentials: 'omit',
      redirect: 'error',
      signal,
    })
  }
}

function refused(answer: Response, body: unknown): Refusal {
  const { code, message, errors } = (body ?? {}) as Partial<ProblemBody>
  const details = errors?.map((error) => `${error.field} ${error.message}`).join('; ')
  const said = details ?? message ?? `The service answered with ${answer.status}.`
  return refusalOf(answer.ok ? 502 : answer.status, code, said, answer.headers.get('Retry-After'))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
