/** Streams that stay open while parts of the service fail, opened again from their last event. The folded rows at each tip are an answer. */
import { createHash } from 'node:crypto'
import type { Hash } from 'viem'
import { FoldedStream, followed } from '../client/event-stream.ts'
import type { PoolContract } from '../simulation/market.ts'
import { randomOf } from '../simulation/random.ts'
import type { Answer } from './judge.ts'
import { anyStream, pathOf } from './question.ts'
import { KEY } from './service.ts'

export type Streams = {
  answers: readonly Answer[]
  /** Events that were left out or came twice, by the numbers in their ids. */
  breaks(): number
  /** True where the newest tip of each is this one. */
  areAt(hash: Hash): boolean
  stop(): void
}

export type StreamOptions = {
  urls: Readonly<Record<string, string>>
  pools: readonly [PoolContract, ...PoolContract[]]
  /** Seconds since 1970, before everything that the chain has. */
  from: number
  seed: number
  /** For each API process. */
  streamsEach: number
}

/** Several streams follow each of them, as each client of a market does. */
const QUESTIONS = 24

export function startStreams({ urls, pools, from, seed, streamsEach }: StreamOptions): Streams {
  const random = randomOf(seed)
  const questions = Array.from({ length: QUESTIONS }, () => anyStream(random, pools, from))
  const answers: Answer[] = []
  const bodies = new Map<string, unknown>()
  const stopped = new AbortController()
  const { signal } = stopped

  /** Equal rows are kept once: there are many. */
  function bodyOf(data: readonly unknown[]): unknown {
    const key = createHash('sha256').update(JSON.stringify(data)).digest('base64')
    const body = bodies.get(key) ?? { data }
    bodies.set(key, body)
    return body
  }

  const streams = Object.entries(urls).flatMap(([name, url]) =>
    Array.from({ length: streamsEach }, (_, index) => {
      const question = questions[index % QUESTIONS] as (typeof questions)[number]
      const folded = new FoldedStream(question.newest)
      const reader = `${name} stream ${index}`
      const stream = { folded, tip: undefined as Hash | undefined }
      void follow()
      return stream

      async function follow(): Promise<void> {
        let body: unknown
        for await (const { event, data } of followed(folded, { url: () => url + pathOf(question), key: KEY, signal })) {
          if (event !== 'tip') {
            body = undefined
            continue
          }
          const answered = performance.now()
          const tip = data['hash'] as Hash
          body ??= bodyOf(folded.rowsOf(question.pool.id))
          stream.tip = tip
          answers.push({ reader, question, asked: answered, answered, body, tip })
        }
      }
    }),
  )

  return {
    answers,
    breaks: () => streams.reduce((sum, { folded }) => sum + folded.breaks, 0),
    areAt: (hash) => streams.every(({ tip }) => tip === hash),
    stop: () => stopped.abort(),
  }
}
