/** Follows one chain from a block on: ranges while it is final, then block by block, for ever. Live and history are one stream. */
import type { Assembler } from '../blocks/assemble.ts'
import { readRanges } from '../blocks/range-scheduler.ts'
import { type BlocksToRead, readBlocks } from '../blocks/recent-blocks.ts'
import { bootstrapPrices } from '../blocks/reference-price.ts'
import { hurried } from '../lib/live-priority.ts'
import { pause, type Waker } from '../lib/wait.ts'
import { ChainReplaced, isFinal } from '../model/errors.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockMessage, BlockRef, Message, RangeMessage } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { Report } from '../model/report.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { onBranch } from '../rpc/pin-to-block.ts'
import { getFinality, getHeads, type Header, type Heads } from '../rpc/rpc.ts'
import { BadAnswer, RpcFailed } from '../rpc/rpc-error.ts'
import type { ToldHeads } from './announced-heads.ts'
import { balancesAt, type Early, readEarly } from './head-prefetch.ts'
import { TRAIL_BLOCKS, type Trail } from './unfinalized-chain.ts'

export type FollowOptions = {
  network: Network
  assembler: Assembler
  /** What was passed on before; empty at the start of a store. */
  trail: Trail
  /** The first block of an empty trail. */
  firstBlock: number
  /** Wakes the listener when the node has a new head; it looks by itself every `pollMs` too. */
  waker: Waker
  /** Heads that nodes have told of. */
  told: ToldHeads
  pollMs: number
  report: Report<IngestFact>
  signal: AbortSignal
}

/** Blocks asked for at once while catching up near the head. */
const BLOCKS_AT_ONCE = 16

/** In a row, and each of them at every endpoint: behind one address some nodes may have lost their way, and others not. */
const LOOKS_BEFORE_HALT = 15

/** An empty batch says that the chain was looked at and had nothing new. */
export async function* follow(endpoints: Endpoints, options: FollowOptions): AsyncGenerator<readonly Message[]> {
  const { network, assembler, trail, signal, report, pollMs } = options
  /** Whether the prices are those that held after the tip of the trail. */
  let isPriced = false
  let replaced = 0
  while (!signal.aborted) {
    let behind = false
    let view: View | undefined
    try {
      const seen = await hurried(() => look(endpoints, options))
      view = seen
      replaced = 0
      if (returnTo(view.ancestor, options)) isPriced = false
      const { chainHead, final } = seen
      const finalized = seen.finalized ?? trail.finalized
      const { number, timestamp } = chainHead
      report({ kind: 'head-seen', network: network.name, number, timestamp, finalized })
      const before = trail.tip ?? final
      if (!isPriced && before) {
        await bootstrapPrices(onBranch(endpoints, before), network, assembler.usd, nextBlock(options))
      }
      isPriced = true
      if (final && nextBlock(options) <= final.number) {
        yield* history(onBranch(endpoints, final), { to: final.number, isFinal: !seen.isGuess }, options)
        behind = true
      } else {
        if (final) settle(final, !seen.isGuess, options)
        const messages = await hurried(() => live(endpoints, seen, options))
        yield messages
        behind = messages.length > 0 && nextBlock(options) <= chainHead.number
      }
    } catch (error) {
      const isDoubtful = error instanceof ChainReplaced && ++replaced < LOOKS_BEFORE_HALT
      if (signal.aborted || (isFinal(error) && !isDoubtful)) throw error
      // What endpoints did is reported already, and they have been given their rest.
      const isNews = isDoubtful ? replaced === 1 : !(error instanceof RpcFailed)
      if (isNews) report({ kind: 'rpc-failed', network: network.name, error, retryMs: pollMs })
      await pause(pollMs, signal)
      continue
    } finally {
      await view?.early?.balances.giveUp()
    }
    if (!behind) await options.waker.wait(pollMs, signal)
  }
}

/**
 * The chain as one node has it, up to `head`, which is what is read now: the node's own head, or the newest that was told where
 * `early` has read that. `ancestor` is where it left the trail.
 */
type View = Heads & { chainHead: Header; ancestor: BlockRef | undefined; early: Early | undefined }

/**
 * All of it from one endpoint, and `ChainReplaced` only where every endpoint has left what was final: one of them may sit on a
 * fork of its own for ever.
 */
function look(endpoints: Endpoints, options: FollowOptions): Promise<View> {
  const { network, trail, firstBlock, assembler } = options
  const { tip } = trail
  const told = options.told.after(tip, BLOCKS_AT_ONCE)
  const newest = told.at(-1)
  return endpoints.run(
    async (client) => {
      const early = newest && readEarly(client, told, newest, assembler)
      // Where nothing is stored, the first message has to be final.
      const heads = await (tip ? getHeads : getFinality)(client, endpoints.finality).catch(async (error) => {
        await early?.balances.giveUp()
        throw error
      })
      const { head, finalized = -1 } = heads
      // What is newer than all that was told is read at the next look, which follows at once.
      if (early && (await early.isBelow(head))) {
        return { ...heads, head: head.hash === newest.hash ? head : newest, chainHead: head, ancestor: tip, early }
      }
      await early?.balances.giveUp()
      // What is stored first is final, whoever said so: all else may be replaced.
      if (!tip && firstBlock > Math.max(0, finalized)) {
        throw new BadAnswer('behind', `At the node block ${finalized} is final, and block ${firstBlock} not yet.`)
      }
      if (tip && head.number < tip.number && trail.has(head)) {
        throw new BadAnswer('behind', `The node's head is block ${head.number}; block ${tip.number} was read already.`)
      }
      // The tip again, or its child: the common case needs no further look at the chain.
      const goesOn = tip?.hash === head.hash || isChild(head, tip)
      const ancestor = goesOn ? tip : await trail.ancestorOn(client, network.name)
      return { ...heads, chainHead: head, ancestor, early: undefined }
    },
    { atLeast: tip?.number },
  )
}

function isChild({ number, parentHash }: Header, parent: BlockRef | undefined): boolean {
  return parent?.hash === parentHash && parent.number + 1 === number
}

/** Steps back to the newest block of the trail that is still on the chain; true where that was not its tip. */
function returnTo(ancestor: BlockRef | undefined, { network, assembler, trail, report }: FollowOptions): boolean {
  const { tip } = trail
  if (!tip || !ancestor || ancestor.number === tip.number) return false
  report({ kind: 'reorg', network: network.name, ancestor: ancestor.number, depth: tip.number - ancestor.number })
  trail.rollBack(ancestor)
  assembler.rollBack(ancestor.number)
  // The price may have come from a block that is gone; the one before it counts again.
  return true
}

function nextBlock({ trail, firstBlock }: FollowOptions): number {
  return trail.tip === undefined ? firstBlock : trail.tip.number + 1
}

/** Forgets what no reorg reaches any more; where nothing is known to be final, what is too long ago. */
function settle(block: BlockRef, isFinal: boolean, { assembler, trail }: FollowOptions): void {
  if (isFinal) trail.finalize(block)
  else trail.keep(TRAIL_BLOCKS)
  const oldest = isFinal ? block : trail.oldest
  if (oldest) assembler.usd.finalize(oldest.number)
}

type Past = { to: number; isFinal: boolean }

async function* history(endpoints: Endpoints, past: Past, options: FollowOptions): AsyncGenerator<RangeMessage[]> {
  const { network, assembler, trail, signal, report } = options
  // Both blocks of one node: behind one address the trail may be on the branch of one, and what is final on another's.
  if (trail.tip) await onBranch(endpoints, trail.tip).run(async () => undefined)
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
    const parentHash = trail.tip?.hash
    const { number, hash, timestamp } = range.last
    const message: RangeMessage = {
      kind: 'range',
      network: network.name,
      from: range.from,
      to: number,
      hash,
      timestamp,
      parentHash,
      ...(!past.isFinal && { finalized: trail.finalized }),
      blocks: content.filter(hasContent),
    }
    trail.push({ number, hash })
    settle({ number, hash }, past.isFinal, options)
    yield [message]
  }
}

function hasContent(block: RangeMessage['blocks'][number]): boolean {
  return block.ticks.length > 0 || block.pools.length > 0 || block.liquidity.length > 0
}

/** The next blocks up to the head. */
async function live(endpoints: Endpoints, view: View, options: FollowOptions): Promise<readonly BlockMessage[]> {
  const { head, early } = view
  const { assembler, trail } = options
  if (trail.has(head)) return []
  const first = nextBlock(options)
  const last = Math.min(head.number, first + BLOCKS_AT_ONCE - 1)
  const beginBalances = () => balancesAt(head, assembler, readBalances(head, options))
  // Beside the logs of one block, and of several that were told, what moves in them is read with the next one; of others, after them.
  let balances = early?.balances ?? (first === head.number ? beginBalances() : undefined)
  try {
    const blocks = await early?.blocks
    const read = early && blocks ? { client: early.client, blocks } : undefined
    const messages = await readMessages(endpoints, { first, last, head, early: read }, options)
    const newest = messages.at(-1)
    if (newest?.number !== head.number) return messages
    balances ??= beginBalances()
    return [...messages.slice(0, -1), { ...newest, balances: await balances.tell() }]
  } finally {
    await balances?.giveUp()
  }
}

/** Up to `last`, or to where the chain breaks off. */
async function readMessages(
  endpoints: Endpoints,
  range: Omit<BlocksToRead, 'parent'>,
  { network, assembler, trail }: FollowOptions,
): Promise<BlockMessage[]> {
  const blocks = await readBlocks(endpoints, assembler.filter, { ...range, parent: trail.tip })
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
      finalized: trail.finalized,
    })
    trail.push(header)
  }
  return messages
}

/** Balances are worth having, but a block is told without them too. */
async function readBalances(block: Header, { network, assembler, report }: FollowOptions) {
  try {
    return await assembler.balances.read(block)
  } catch (error) {
    report({ kind: 'balances-unread', network: network.name, pools: 0, error })
    return []
  }
}
