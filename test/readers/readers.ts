/** Readers that ask all the while, and the eye on the ledger's table beside them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Hash } from 'viem'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import type { Block } from '../simulation/block.ts'
import type { PoolContract } from '../simulation/market.ts'
import { randomOf } from '../simulation/random.ts'
import type { Answer, TipSeen } from './judge.ts'
import { anyQuestion, pathOf, type Question } from './question.ts'
import { KEY, NETWORK } from './service.ts'

export type Refusal = { reader: string; question: Question; asked: number; status: number; body: unknown }

export type Readers = {
  answers: readonly Answer[]
  tips: readonly TipSeen[]
  /** Answers without rows: how often each status came, and how often none. */
  refused: ReadonlyMap<string, number>
  /** Refusals that no fault explains. */
  unexpected: readonly Refusal[]
  /** Resolves once the last answer is there. */
  stop(): Promise<void>
}

export type ReaderOptions = {
  urls: Readonly<Record<string, string>>
  client: ClickHouseClient
  pools: readonly [PoolContract, ...PoolContract[]]
  /** The block of the newest tip that was seen in the tables, or the chain's head where it is unknown. */
  newest(stored: Hash | undefined): Block
  seed: number
  /** For each API process. */
  readersEach: number
}

/** Share of questions that were asked before: what is kept for them has to follow the chain. */
const REPEATED = 0.5
const REMEMBERED = 60
const PAUSE_MS = 2
const AFTER_REFUSAL_MS = 100
const TIP_EVERY_MS = 50
/** A paused process answers nothing. */
const PATIENCE_MS = 15_000
/** The store, or the process, is away; the pool is not there yet; claims of credits could not be read in time. */
const EXPECTED_REFUSALS = [503, 404, 429]

export function startReaders({ urls, client, pools, newest, seed, readersEach }: ReaderOptions): Readers {
  const answers: Answer[] = []
  const tips: TipSeen[] = []
  const refused = new Map<string, number>()
  const unexpected: Refusal[] = []
  /** Equal answers are kept once: there are many. */
  const bodies = new Map<string, unknown>()
  let isOver = false
  const bodyOf = (text: string) => {
    const body = bodies.get(text) ?? (JSON.parse(text) as unknown)
    bodies.set(text, body)
    return body
  }
  const count = (what: string) => refused.set(what, (refused.get(what) ?? 0) + 1)

  async function read(reader: string, url: string, number: number): Promise<void> {
    const random = randomOf(seed * 10_000 + number)
    const before: Question[] = []
    for (; !isOver; await sleep(PAUSE_MS)) {
      const again = random.chance(REPEATED) ? before[random.between(0, before.length - 1)] : undefined
      // The ledger may be far behind the chain: near its tip is where answers change.
      const question = again ?? anyQuestion(random, pools, newest(tips.at(-1)?.hash))
      if (!again) before.push(question)
      if (before.length > REMEMBERED) before.shift()
      const asked = performance.now()
      const answer = await fetch(`${url}${pathOf(question)}`, {
        headers: { 'X-API-KEY': KEY },
        signal: AbortSignal.timeout(PATIENCE_MS),
      })
        .then(async (response) => ({ status: response.status, body: bodyOf(await response.text()) }))
        .catch(() => undefined)
      if (answer?.status === 200) {
        answers.push({ reader, question, asked, answered: performance.now(), body: answer.body })
      } else {
        count(answer === undefined ? 'no answer' : String(answer.status))
        if (answer && !EXPECTED_REFUSALS.includes(answer.status))
          unexpected.push({ reader, question, asked, ...answer })
        await sleep(AFTER_REFUSAL_MS)
      }
    }
  }

  async function watchTip(): Promise<void> {
    const chain = storedChain(client, NETWORK)
    for (; !isOver; await sleep(TIP_EVERY_MS)) {
      const asked = performance.now()
      const tip = await chain.tip().catch(() => 'away' as const)
      if (tip !== 'away') tips.push({ asked, answered: performance.now(), hash: tip?.hash })
    }
  }

  const reading = Object.entries(urls).flatMap(([reader, url], place) =>
    Array.from({ length: readersEach }, (_, index) => read(`${reader} ${index}`, url, 1_000 * place + index)),
  )
  const all = Promise.all([...reading, watchTip()])
  all.catch(() => undefined)
  return {
    answers,
    tips,
    refused,
    unexpected,
    async stop() {
      isOver = true
      await all
    },
  }
}
