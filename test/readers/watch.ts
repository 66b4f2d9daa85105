/** One run: the service, its readers, faults for so long, and the verdict on every answer. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { POOLS, type PoolContract } from '../simulation/market.ts'
import { randomOf } from '../simulation/random.ts'
import { until } from '../support/until.ts'
import { FAULT_NAMES, FAULTS, type FaultName, MAX_FORK } from './faults.ts'
import { GENESIS, startForkingNode } from './forking-node.ts'
import { judge, type Verdict, type Violation } from './judge.ts'
import { historyOf, type LedgerHistory } from './ledger-history.ts'
import { pathOf } from './question.ts'
import type { Functions } from './reached.ts'
import { type Refusal, startReaders } from './readers.ts'
import { NETWORK, PROCESSES, type Service, startService } from './service.ts'
import { type Streams, startStreams } from './streams.ts'
import { messagesOf } from './topic-messages.ts'

export type WatchOptions = {
  seed: number
  seconds: number
  faults?: readonly FaultName[]
  /** Sources of the processes. */
  root?: string
}

/** Moments in ms of the clock of answers. */
export type Injected = { fault: FaultName; from: number; to: number }

export type Watched = Verdict & {
  history: LedgerHistory
  seed: number
  injected: readonly Injected[]
  refused: ReadonlyMap<string, number>
  unexpected: readonly Refusal[]
  /** Lines of the logs of API processes that are errors. */
  errors: readonly string[]
  /** Lines of the ingest's log: its audit finds nothing where the node tells the truth. */
  found: readonly string[]
  states: number
  tips: number
  answers: number
  /** The part of `answers` that streams gave at their tips. */
  streamed: number
  /** Events of streams that were left out or came twice. */
  breaks: number
  reached: Functions
}

const READERS_EACH = 30
/** None unless they are asked for: few rounds with streams have been judged. */
const STREAMS_EACH = Number(process.env['STREAMS_EACH'] ?? 0)
const BLOCK_EVERY_MS = 200
/** A listener looks once a minute whether what it has sent is stored, and sends it again after two looks in vain. */
const STILL_MS = 240_000
const DAY = 86_400
const CACHE = join(import.meta.dirname, '../../node_modules/.cache')
/** Pools that the service lists. */
const LISTED = POOLS.filter(
  ({ factory, currency0 }) => factory === POOLS[0]?.factory && !currency0.endsWith('00ff'),
) as [PoolContract, ...PoolContract[]]

export async function watch({ seed, seconds, faults = FAULT_NAMES, root }: WatchOptions): Promise<Watched> {
  const random = randomOf(seed)
  const node = await startForkingNode(random)
  node.change((world) => {
    world.grow(120)
    world.finalize()
  })
  const service = await startService(node.url, root)
  const injected: Injected[] = []
  let isOver = false
  let streams: Streams | undefined
  try {
    await untilServed(service)
    const growing = grow()
    const readers = startReaders({
      urls: service.urls,
      client: service.client,
      pools: LISTED,
      newest: (stored) => (stored && node.blocks.get(stored)) ?? node.world.head,
      seed,
      readersEach: READERS_EACH,
    })
    streams = startStreams({
      urls: service.urls,
      pools: LISTED,
      from: GENESIS.timestamp - (GENESIS.timestamp % DAY),
      seed,
      streamsEach: STREAMS_EACH,
    })
    const end = performance.now() + 1_000 * seconds
    const others = faults as [FaultName, ...FaultName[]]
    for (let first = [...faults]; performance.now() < end; ) {
      await sleep(random.between(100, 1_500))
      // Each once, before any comes again.
      const fault = first.shift() ?? random.pick(others)
      const from = performance.now()
      await FAULTS[fault]({ service, node, random })
      injected.push({ fault, from, to: performance.now() })
    }
    isOver = true
    await growing
    // A head that is an ancestor of what was read may be that of a node that lags: the listener waits until the chain is higher.
    node.change((world) => world.grow(MAX_FORK + 1))
    await untilStored(service, () => node.world.head.hash)
    // What is kept in memory has to follow.
    await sleep(2_000)
    await readers.stop()
    const { hash } = node.world.head
    await until(async () => streams?.areAt(hash) || undefined, 'the streams are at the head')
    streams.stop()
    const answers = [...readers.answers, ...streams.answers]
    const history = historyOf(await messagesOf(service.brokers.addresses, NETWORK), node.blocks)
    const verdict = judge(history, { answers, tips: readers.tips, servedAt: node.servedAt })
    const { refused, unexpected, tips } = readers
    const found = linesWith(/"kind":"audit-found"/, service.output('ingest'))
    const { violations } = verdict
    if (violations.length + found.length > 0)
      await keepEvidence(service, { injected, tips, states: statesOf(history), violations, found })
    const errors = (['api-1', 'api-2'] as const).flatMap((name) => linesWith(/"level":(50|60)/, service.output(name)))
    return {
      ...verdict,
      history,
      seed,
      injected,
      refused,
      unexpected,
      errors,
      found,
      states: history.states.length,
      tips: tips.length,
      answers: answers.length,
      streamed: streams.answers.length,
      breaks: streams.breaks(),
      reached: await service.reached(),
    }
  } catch (error) {
    await keepEvidence(service, { injected })
    throw error
  } finally {
    isOver = true
    streams?.stop()
    await service.stop()
    await node.stop()
  }

  async function grow(): Promise<void> {
    for (; !isOver; await sleep(BLOCK_EVERY_MS)) {
      node.change((world) => {
        world.grow(1)
        if (random.chance(0.1)) world.finalize()
      })
    }
  }
}

async function untilServed({ urls }: Service): Promise<void> {
  const isServed = async (url: string) => {
    const answer = await fetch(`${url}/v0/health`)
    const { networks } = (await answer.json()) as { networks: { tip: unknown }[] }
    return networks[0]?.tip ? true : undefined
  }
  for (const url of Object.values(urls)) await until(() => isServed(url), `${url} shows a tip`)
}

/** A busy machine takes long: it is waited for as long as the tip moves. */
async function untilStored({ client }: Service, hash: () => string): Promise<void> {
  const { tip } = storedChain(client, NETWORK)
  for (let [seen, since] = ['', performance.now()]; ; await sleep(100)) {
    const stored = (await tip().catch(() => undefined))?.hash ?? ''
    if (stored === hash()) return
    if (stored !== seen) [seen, since] = [stored, performance.now()]
    if (performance.now() - since > STILL_MS)
      throw new Error(`The tip ${seen} has been the stored one for ${STILL_MS / 1_000} s, and is not the head.`)
  }
}

/** Writes what was seen and the logs of all processes into a folder that stays, and prints its path. */
async function keepEvidence(service: Service, seen: object): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'readers-'))
  await writeFile(join(folder, 'seen.json'), JSON.stringify({ origin: performance.timeOrigin, ...seen }))
  for (const name of PROCESSES) await writeFile(join(folder, `${name}.log`), service.output(name))
  console.log(`Evidence: ${folder}`)
}

function statesOf({ states }: LedgerHistory) {
  return states.map(({ tip: { number, hash }, isRollback }) => ({ number, hash, isRollback }))
}

/** Lines of a log by pino, of which errors have a level of 50 or more. */
function linesWith(field: RegExp, output: string): string[] {
  return output.split('\n').filter((line) => field.test(line))
}

/** How often each fault came. */
export function countsOf({ injected }: Watched): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { fault } of injected) counts[fault] = (counts[fault] ?? 0) + 1
  return counts
}

export function describeWatched(watched: Watched): string {
  const { seed, answers, streamed, judged, underWay, violations, states, refused } = watched
  const faults = Object.entries(countsOf(watched)).map(([fault, count]) => `  ${String(count).padStart(4)}  ${fault}`)
  const without = [...refused].map(([what, count]) => `${count} ${what}`).join(', ')
  return [
    `SEED=${seed}: ${judged} parts of ${answers} answers, ${streamed} of them at tips of streams, judged against ${states} states of the ledger, ${violations.length} violations, ${underWay} read while a write was under way; not answered: ${without || 'none'}`,
    ...faults.sort(),
  ].join('\n')
}

/** The question, what was wrong, and in which states it would have been right. */
export function describeViolation({ kind, part, answer, allowed, matched, difference }: Violation): string {
  const { reader, question, asked, answered } = answer
  const moment = `${Math.round(asked)} to ${Math.round(answered)} ms`
  return `${kind}: ${part} of ${pathOf(question)} by ${reader}, ${moment}; allowed ${allowed.join(' to ')}, exact for ${matched}; ${difference}`
}
