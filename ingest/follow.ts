/** Follows one chain from a block on: ranges while it is final, then block by block, for ever. Live and history are one stream. */
import type { Assembler } from './assemble.ts'
import { readBlocks } from './blocks.ts'
import type { Endpoints } from './endpoints.ts'
import { ChainReplaced, isFinal } from './errors.ts'
import type { IngestFact } from './fact.ts'
import type { BlockMessage, Message, RangeMessage } from './message.ts'
import type { Network } from './network.ts'
import { readRanges } from './ranges.ts'
import { bootstrapPrices } from './reference.ts'
import type { Report } from './report.ts'
import { getHeads, type Header } from './rpc.ts'
import { BadAnswer, RpcFailed } from './rpc-error.ts'
import type { Trail } from './trail.ts'
import { pause, type Waker } from './wait.ts'

export type FollowOptions = {
  network: Network
  assembler: Assembler
  /** What was passed on before; empty at the start of a store. */
  trail: Trail
  /** The first block of an empty trail. */
  firstBlock: number
  /** Wakes the listener when the node has a new head; it looks by itself every `pollMs` too. */
  waker: Waker
  pollMs: number
  report: Report<IngestFact>
  signal: AbortSignal
}

/** Blocks asked for at once while catching up near the head. */
const BLOCKS_AT_ONCE = 16

/** An empty batch says that the chain was looked at and had nothing new. */
export async function* follow(endpoints: Endpoints, options: FollowOptions): AsyncGenerator<readonly Message[]> {
  const { network, signal, report, pollMs } = options
  while (!signal.aborted) {
    let behind = false
    try {
      const { head, finalized } = await look(endpoints, options.trail)
      if (nextBlock(options) <= finalized) yield* history(endpoints, finalized, options)
      else {
        const messages = await live(endpoints, head, finalized, options)
        yield messages
        behind = messages.length > 0 && nextBlock(options) <= head.number
        options.trail.finalize(finalized)
        options.assembler.usd.finalize(finalized)
      }
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error
      // What endpoints did is reported already, and they have been given their rest.
      if (!(error instanceof RpcFailed)) report({ kind: 'rpc-failed', network: network.name, error, retryMs: pollMs })
      await pause(pollMs, signal)
      continue
    }
    if (!behind) await options.waker.wait(pollMs, signal)
  }
}

/** The head, and the newest block that no reorg can reach. */
function look(endpoints: Endpoints, trail: Trail) {
  const { tip } = trail
  return endpoints.run(
    async (client) => {
      const { head, finalized } = await getHeads(client)
      if (tip && head.number < tip.number && trail.has(head)) {
        throw new BadAnswer('behind', `The node's head is block ${head.number}; block ${tip.number} was read already.`)
      }
      return { head, finalized }
    },
    { atLeast: tip?.number },
  )
}

function nextBlock({ trail, firstBlock }: FollowOptions): number {
  return trail.tip === undefined ? firstBlock : trail.tip.number + 1
}

async function* history(
  endpoints: Endpoints,
  finalized: number,
  options: FollowOptions,
): AsyncGenerator<RangeMessage[]> {
  const { network, assembler, trail, signal, report } = options
  await returnToChain(endpoints, options)
  const from = nextBlock(options)
  const ranges = readRanges(endpoints, {
    filter: assembler.filter,
    from,
    to: finalized,
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
      blocks: content.filter(hasContent),
    }
    trail.push({ number, hash })
    assembler.usd.finalize(number)
    yield [message]
  }
}

function hasContent(block: RangeMessage['blocks'][number]): boolean {
  return block.ticks.length > 0 || block.pools.length > 0 || block.liquidity.length > 0
}

/** The next blocks up to `head`, after stepping back where the chain has left the trail. */
async function live(
  endpoints: Endpoints,
  head: Header,
  finalized: number,
  options: FollowOptions,
): Promise<readonly BlockMessage[]> {
  const { network, assembler, trail } = options
  const tip = trail.tip
  // A head that we have passed: the node has nothing new, or is behind another one that answered before.
  if (trail.has(head)) return []
  // One block ahead and its child: the common case needs no further look at the chain.
  if (tip && !(head.number === tip.number + 1 && head.parentHash === tip.hash)) {
    await returnToChain(endpoints, options)
  }
  const first = nextBlock(options)
  const last = Math.min(head.number, first + BLOCKS_AT_ONCE - 1)
  const blocks = await readBlocks(endpoints, assembler.filter, { first, last, head, parent: trail.tip })
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
      finalized: header.number <= finalized,
    })
    trail.push(header)
  }
  const newest = messages.at(-1)
  if (newest && newest.number === head.number) {
    messages[messages.length - 1] = { ...newest, balances: await readBalances(newest, options) }
  }
  return messages
}

/** Steps back to the newest block of the trail that is still on the chain. */
async function returnToChain(endpoints: Endpoints, options: FollowOptions): Promise<void> {
  const { network, assembler, trail, report } = options
  const tip = trail.tip
  if (!tip) return
  const ancestor = await endpoints.run(
    async (client) => {
      const found = await trail.commonAncestor(client)
      if (!found) throw new ChainReplaced(network.name, tip)
      return found
    },
    { atLeast: tip.number },
  )
  if (ancestor.number === tip.number) return
  report({ kind: 'reorg', network: network.name, ancestor: ancestor.number, depth: tip.number - ancestor.number })
  trail.rollBack(ancestor)
  assembler.rollBack(ancestor.number)
  // The price may have come from a block that is gone; the one before it counts again.
  await bootstrapPrices(endpoints, network, assembler.usd, ancestor.number + 1)
}

/** Balances are worth having, but no block waits for them. */
async function readBalances(block: BlockMessage, { network, assembler, report }: FollowOptions) {
  try {
    return await assembler.balances.read(block)
  } catch (error) {
    report({ kind: 'balances-unread', network: network.name, pools: 0, error })
    return []
  }
}
