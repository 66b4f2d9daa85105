/** Follows one chain from a block on: ranges while it is final, then single blocks. Live and history are one stream. */

import { BlockedReading } from '../blocks/blocked-reading.ts'
import { readRanges } from '../blocks/range-scheduler.ts'
import type { BlocksToRead, LiveReading } from '../blocks/recent-blocks.ts'
import { bootstrapPrices } from '../blocks/reference-price.ts'
import { pause, type Waker } from '../lib/wait.ts'
import { ChainReplaced, isFinal } from '../model/errors.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockMessage, BlockRef, Message, RangeMessage } from '../model/message.ts'
import type { Report } from '../model/report.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import type { Header } from '../rpc/rpc.ts'
import { RpcFailed } from '../rpc/rpc-error.ts'
import { type ChainView, pollChain, type ViewOptions } from './chain-view.ts'
import { balancesAt } from './head-prefetch.ts'
import { MAX_UNFINALIZED_BLOCKS } from './unfinalized-chain.ts'

export type FollowOptions = ViewOptions & {
  /** Wakes the listener at a new head. The chain is polled every `pollMs` where none is announced, and where the next one is late. */
  waker: Waker
  live: LiveReading
  report: Report<IngestFact>
  signal: AbortSignal
}

/** Polls in a row, each at every endpoint, before `ChainReplaced` is thrown: nodes behind one address may disagree for a while. */
const MAX_REPLACED_POLLS = 15

/** Yields messages in chain order. An empty batch means: the chain was polled and had no new block. */
export async function* follow(endpoints: Endpoints, options: FollowOptions): AsyncGenerator<readonly Message[]> {
  const { network, assembler, chain, signal, report, pollMs } = options
  /** Whether the prices are those after the tip of `chain`. */
  let isPriced = false
  let replaced = 0
  const blocked = new BlockedReading(network.name, report)
  while (!signal.aborted) {
    let behind = false
    let view: ChainView | undefined
    try {
      const seen = await pollChain(endpoints, options)
      view = seen
      replaced = 0
      if (rollBackTo(view.ancestor, options)) isPriced = false
      const { chainHead, final } = seen
      const finalized = seen.finalized ?? chain.finalized
      const { number, timestamp } = chainHead
      report({ kind: 'head-seen', network: network.name, number, timestamp, finalized })
      const before = chain.tip ?? final
      if (!isPriced && before) {
        await bootstrapPrices(pinToBlock(endpoints, before), network, assembler.usd, nextBlock(options))
      }
      const newest = final ?? chain.tip
      if (!isPriced && newest) await assembler.meetHooks(newest)
      isPriced = true
      if (final && nextBlock(options) <= final.number) {
        yield* readHistory(pinToBlock(endpoints, final), { to: final.number, isFinal: !seen.isGuess }, options)
        behind = true
      } else {
        if (final) finalize(final, !seen.isGuess, options)
        const messages = await readLive(endpoints, seen, options)
        blocked.progressed()
        yield messages
        behind = messages.length > 0 && nextBlock(options) <= chainHead.number
      }
    } catch (error) {
      const isDoubtful = error instanceof ChainReplaced && ++replaced < MAX_REPLACED_POLLS
      if (signal.aborted || (isFinal(error) && !isDoubtful)) throw error
      // Failures of endpoints are reported already, with their back-off.
      const isNews = isDoubtful ? replaced === 1 : !(error instanceof RpcFailed)
      blocked.failed(error, nextBlock(options))
      if (isNews) report({ kind: 'rpc-failed', network: network.name, error, retryMs: pollMs })
      await pause(pollMs, signal)
      continue
    } finally {
      await view?.early?.balances.discard()
    }
    if (!behind) await options.waker.wait(Math.max(pollMs, options.announced.quietMs), signal)
  }
}

/** Rolls back to the newest block of `chain` that is still canonical. True where that is not the tip. */
function rollBackTo(ancestor: BlockRef | undefined, { network, assembler, chain, report }: FollowOptions): boolean {
  const { tip } = chain
  if (!tip || !ancestor || ancestor.number === tip.number) return false
  report({ kind: 'reorg', network: network.name, ancestor: ancestor.number, depth: tip.number - ancestor.number })
  chain.rollBack(ancestor)
  assembler.rollBack(ancestor.number)
  // The price may come from a replaced block; the one before it applies again.
  return true
}

function nextBlock({ chain, firstBlock }: FollowOptions): number {
  return chain.tip === undefined ? firstBlock : chain.tip.number + 1
}

/** Forgets blocks that no reorg reaches. Where finality is unknown, keeps the newest `MAX_UNFINALIZED_BLOCKS`. */
function finalize(block: BlockRef, isFinal: boolean, { assembler, chain }: FollowOptions): void {
  if (isFinal) chain.finalize(block)
  else chain.keep(MAX_UNFINALIZED_BLOCKS)
  const oldest = isFinal ? block : chain.oldest
  if (oldest) assembler.usd.finalize(oldest.number)
}

type FinalHistory = { to: number; isFinal: boolean }

async function* readHistory(
  endpoints: Endpoints,
  past: FinalHistory,
  options: FollowOptions,
): AsyncGenerator<RangeMessage[]> {
  const { network, assembler, chain, signal, report } = options
  // Both blocks must come from one node: behind one address, nodes may be on different branches.
  if (chain.tip) await pinToBlock(endpoints, chain.tip).run(async () => undefined)
  const from = nextBlock(options)
  const ranges = readRanges(endpoints, {
    filter: assembler.filter,
    from,
    to: past.to,
    signal,
    onSplit: (first, last, reason) =>
      report({ kind: 'range-split', network: network.name, from: first, to: last, reason }),
  })
  for await (const range of ranges) {
    const content = await assembler.assemble(range.logs, range.headers)
    const parentHash = chain.tip?.hash
    const { number, hash, timestamp } = range.last
    const message: RangeMessage = {
      kind: 'range',
      network: network.name,
      from: range.from,
      to: number,
      hash,
      timestamp,
      parentHash,
      ...(!past.isFinal && { finalized: chain.finalized }),
      blocks: content.filter(hasContent),
    }
    chain.push({ number, hash })
    finalize({ number, hash }, past.isFinal, options)
    yield [message]
  }
}

function hasContent(block: RangeMessage['blocks'][number]): boolean {
  return block.ticks.length > 0 || block.pools.length > 0 || block.liquidity.length > 0
}

/** Messages of the next blocks up to the head. */
async function readLive(
  endpoints: Endpoints,
  view: ChainView,
  options: FollowOptions,
): Promise<readonly BlockMessage[]> {
  const { head, early } = view
  const { assembler, chain, live } = options
  if (chain.has(head)) return []
  const first = nextBlock(options)
  const last = Math.min(head.number, first + live.blocksAtOnce - 1)
  const beginBalances = () => balancesAt(head, assembler, readBalances(head, options))
  // For one block, and for announced ones, balances are read in parallel with the logs; changes of these blocks are read with the next
  // block. Otherwise balances follow the logs.
  let balances = early?.balances ?? (first === head.number ? beginBalances() : undefined)
  try {
    const blocks = await early?.blocks
    const read = early && blocks ? { client: early.client, blocks } : undefined
    const messages = await readMessages(endpoints, { first, last, head, early: read }, options)
    const newest = messages.at(-1)
    if (newest?.number !== head.number) return messages
    balances ??= beginBalances()
    return [...messages.slice(0, -1), { ...newest, balances: await balances.take() }]
  } finally {
    await balances?.discard()
  }
}

/** Messages up to `last`, or up to the first block that does not link to its parent. */
async function readMessages(
  endpoints: Endpoints,
  range: Omit<BlocksToRead, 'parent'>,
  { network, assembler, chain, live }: FollowOptions,
): Promise<BlockMessage[]> {
  const blocks = await live.read(endpoints, assembler.filter, { ...range, parent: chain.tip })
  const headers = blocks.map(({ header }) => header)
  const logs = blocks.flatMap((block) => block.logs)
  const contents = await assembler.assemble(logs, headers)
  const messages: BlockMessage[] = []
  for (const [index, content] of contents.entries()) {
    const header = headers[index] as Header
    messages.push({
      kind: 'block',
      network: network.name,
      ...content,
      parentHash: header.parentHash,
      finalized: chain.finalized,
    })
    chain.push(header)
  }
  return messages
}

/** A failure yields no balances: they are optional for a block. */
async function readBalances(block: Header, { network, assembler, report }: FollowOptions) {
  try {
    return await assembler.balances.read(block)
  } catch (error) {
    report({ kind: 'balances-unread', network: network.name, pools: 0, error })
    return []
  }
}
