/** The listener of one network: finds the block to resume at, follows the chain, and appends messages to the log. */
import { createAssembler } from '../blocks/assemble.ts'
import { BlockedReading } from '../blocks/blocked-reading.ts'
import { BLOCK_BY_BLOCK, type LiveReading } from '../blocks/recent-blocks.ts'
import { pause, retried, Waker } from '../lib/wait.ts'
import { ChainReplaced, isFinal } from '../model/errors.ts'
import type { IngestFact } from '../model/fact.ts'
import { type BlockRef, blocksOf, type Message, tipOf } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import type { Report } from '../model/report.ts'
import type { StoredChain, StoredTip } from '../model/stored-chain.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import type { StoredTokens } from '../model/stored-tokens.ts'
import type { TickLog } from '../model/tick-log.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { RpcFailed } from '../rpc/rpc-error.ts'
import { type AnnouncedHead, AnnouncedHeads } from './announced-heads.ts'
import { commonAncestor } from './common-ancestor.ts'
import { follow } from './follow.ts'
import { RewindDetector } from './rewind-detector.ts'
import { StallDetector } from './stall-detector.ts'
import { firstBlock, type StartBlock } from './start-block.ts'
import { MAX_UNFINALIZED_BLOCKS, UnfinalizedChain } from './unfinalized-chain.ts'

export type ListenOptions = {
  network: Network
  log: TickLog
  stored: StoredChain
  /** Pools that are stored are not requested from the chain. */
  storedPools?: StoredPools
  /** Tokens that are stored keep their decimals and their names. */
  storedTokens?: StoredTokens
  /** Applies only while nothing is stored or logged. */
  start: StartBlock
  /** Pools to read; all where absent. */
  pools?: ReadonlySet<PoolId> | undefined
  watchHeads?: WatchHeads | undefined
  pollMs?: number
  /** The head of a node is requested once in this time while announced blocks link to the tip: six seconds where absent. */
  announcedPollMs?: number
  /** `BLOCK_BY_BLOCK` where absent. */
  live?: LiveReading
  report: Report<IngestFact>
  signal: AbortSignal
}

/** Calls back at each new head of a node, with the header where the node sends it. Returns a function that unsubscribes. */
export type WatchHeads = (onHead: (head?: AnnouncedHead) => void) => () => void

const POLL_MS = 1_000
/** Interval between comparisons of the stored tip with the appended messages. */
const STALL_LOOK_MS = 60_000
const STORED_MS = 1_000

/** Runs until the signal aborts. Throws only errors that no retry can resolve. */
export async function listen(endpoints: Endpoints, options: ListenOptions): Promise<void> {
  const { network, pollMs = POLL_MS, live = BLOCK_BY_BLOCK, signal, report } = options
  const blocked = new BlockedReading(network.name, report)
  const failed = (error: unknown, retryMs: number) => {
    if (isFinal(error)) throw error
    blocked.failed(error, options.start.kind === 'block' ? options.start.number : 0)
    // Failures of endpoints are reported already, with their back-off.
    if (!(error instanceof RpcFailed)) report({ kind: 'rpc-failed', network: network.name, error, retryMs })
  }
  const waker = new Waker()
  const announced = new AnnouncedHeads(options.announcedPollMs)
  const unwatch = options.watchHeads?.((head) => {
    if (head) announced.add(head)
    waker.wake()
  })
  const stalls = new StallDetector(options.stored, STALL_LOOK_MS)
  const rewinds = new RewindDetector(options.stored)
  const isStalled = async (messages: readonly Message[]) => {
    const stall = await stalls.look(messages)
    if (stall)
      report({ kind: 'republishing', network: network.name, stored: stall.tip?.number, appended: stall.appended })
    return stall !== undefined
  }
  let useLog = true
  try {
    while (!signal.aborted) {
      const assembler = createAssembler(
        endpoints,
        network,
        options.pools,
        report,
        withTimeLimit(options.storedPools, signal),
        withTimeLimit(options.storedTokens, signal),
      )
      const begin = async () => {
        signal.throwIfAborted()
        await rewinds.begin()
        const chain = await resume(options, useLog)
        endpoints.finality.wasKnown(chain.finalized)
        const onMoved = (wanted: number | undefined, firstBlock: number) =>
          report({ kind: 'start-moved', network: network.name, wanted, firstBlock })
        return { chain, first: chain.tip ? chain.tip.number + 1 : await firstBlock(endpoints, options.start, onMoved) }
      }
      const { chain, first } = await retried(begin, { firstMs: pollMs, maxMs: pollMs, signal, failed })
      report({ kind: 'resumed', network: network.name, at: chain.tip, firstBlock: first })
      const stream = follow(endpoints, {
        network,
        assembler,
        chain,
        firstBlock: first,
        waker,
        announced,
        pollMs,
        live,
        report,
        signal,
      })
      await appendUntil(stream, options, async (messages) => (await rewinds.isRewound()) || (await isStalled(messages)))
      useLog = false
    }
  } catch (error) {
    if (signal.aborted) return
    throw error instanceof ChainReplaced ? await withAncestor(error, endpoints, options.stored) : error
  } finally {
    unwatch?.()
  }
}

/** Appends each batch. Resolves where the log and the tables have parted, so that the listener resumes at the stored tip. */
async function appendUntil(
  stream: AsyncIterable<readonly Message[]>,
  { log, report }: Pick<ListenOptions, 'log' | 'report'>,
  haveParted: (messages: readonly Message[]) => Promise<boolean>,
): Promise<void> {
  for await (const messages of stream) {
    if (messages.length > 0) await log.append(messages)
    for (const message of messages) report(appendedFact(message))
    if (await haveParted(messages)) return
  }
}

/** The error names the block to go back to, where the endpoints and the tables answer. */
async function withAncestor(
  { network, replacement }: ChainReplaced,
  endpoints: Endpoints,
  stored: StoredChain,
): Promise<ChainReplaced> {
  const ancestor = await commonAncestor(endpoints, stored, replacement.stored.number).catch(() => undefined)
  return new ChainReplaced(network, replacement, ancestor)
}

/**
 * The blocks to resume from: up to the last message of the log, else up to the stored tip. The first poll finds which of them are still
 * canonical. A listener that starts below the log's end appends blocks again, which changes nothing.
 *  Finality comes from the stored rows: the current chain cannot tell which of its replaced blocks were final.
 */
async function resume({ log, stored }: ListenOptions, useLog: boolean): Promise<UnfinalizedChain> {
  const tip = await stored.tip()
  const newest = useLog ? await log.last() : undefined
  // A message that the tables have processed adds nothing. After a rewind it belongs to the removed branch.
  const isNews = newest && newest.offset >= ((await stored.passed?.()) ?? 0)
  const last = isNews ? newest : undefined
  const refs: BlockRef[] = tip ? [tip, ...(await stored.below(tip.number, blocksAbove(tip)))] : []
  const logged = last && tipOf(last.message)
  if (!logged || (tip && tip.number >= logged.number)) return new UnfinalizedChain(refs, tip?.finalized)
  return new UnfinalizedChain([...refs, logged], wasFinal(last.message, tip?.finalized))
}

/** A range is final itself, unless it names a lower final block. */
function wasFinal(message: Message, stored: number | undefined): number | undefined {
  return message.kind === 'range' && message.finalized === undefined ? message.to : stored
}

/** The number of blocks down to the newest final one. */
function blocksAbove({ number, finalized }: StoredTip): number {
  return finalized > 0 ? Math.max(1, number - finalized) : MAX_UNFINALIZED_BLOCKS
}

/** Tables that do not answer in time are skipped: the chain has the same pools and tokens, at a higher cost. */
function withTimeLimit<Key, Found>(
  stored: ((keys: readonly Key[]) => Promise<Found[]>) | undefined,
  signal: AbortSignal,
): ((keys: readonly Key[]) => Promise<Found[]>) | undefined {
  if (!stored) return undefined
  return async (keys) => {
    const answered = new AbortController()
    const tooLate = pause(STORED_MS, AbortSignal.any([signal, answered.signal])).then(() => [])
    try {
      return await Promise.race([stored(keys).catch(() => []), tooLate])
    } finally {
      answered.abort()
    }
  }
}

function appendedFact(message: Message): IngestFact {
  const ticks = blocksOf(message).reduce((sum, block) => sum + block.ticks.length, 0)
  if (message.kind === 'range') {
    const { network, from, to, timestamp } = message
    return { kind: 'range-appended', network, from, to, ticks, timestamp }
  }
  return {
    kind: 'block-appended',
    network: message.network,
    number: message.number,
    ticks,
    timestamp: message.timestamp,
  }
}
