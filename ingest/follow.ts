/** Follows one chain from a block on: ranges while it is final, then block by block, for ever. Live and history are one stream. */
import type { Client } from 'viem'
import type { Assembler } from './assemble.ts'
import { ChainReplaced } from './errors.ts'
import type { IngestFact } from './fact.ts'
import type { BlockMessage, BlockRef, Message, RangeMessage } from './message.ts'
import type { Network } from './network.ts'
import { readRanges } from './ranges.ts'
import { bootstrapPrices } from './reference.ts'
import type { Report } from './report.ts'
import { getHeader, getLogs, type Header } from './rpc.ts'
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
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 15_000
/** Where a node does not know the tag `finalized`. */
const FALLBACK_FINALITY_BLOCKS = 256

export async function* follow(client: Client, options: FollowOptions): AsyncGenerator<readonly Message[]> {
  const { network, signal, report } = options
  let retryMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    let behind = false
    try {
      const head = await getHeader(client, 'latest')
      if (!head) throw new Error('The node answered no block for `latest`.')
      const finalized = await finalizedNumber(client, head)
      if (nextBlock(options) <= finalized) yield* history(client, finalized, options)
      else {
        const messages = await live(client, head, finalized, options)
        if (messages.length > 0) yield messages
        behind = messages.length > 0 && nextBlock(options) <= head.number
        options.trail.finalize(finalized)
        options.assembler.usd.finalize(finalized)
      }
      retryMs = FIRST_RETRY_MS
    } catch (error) {
      if (signal.aborted || error instanceof ChainReplaced) throw error
      report({ kind: 'rpc-failed', network: network.name, error, retryMs })
      await pause(retryMs, signal)
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2)
      continue
    }
    if (!behind) await options.waker.wait(options.pollMs, signal)
  }
}

function nextBlock({ trail, firstBlock }: FollowOptions): number {
  return trail.tip === undefined ? firstBlock : trail.tip.number + 1
}

async function finalizedNumber(client: Client, head: Header): Promise<number> {
  const finalized = await getHeader(client, 'finalized').catch(() => undefined)
  return finalized?.number ?? Math.max(-1, head.number - FALLBACK_FINALITY_BLOCKS)
}

async function* history(client: Client, finalized: number, options: FollowOptions): AsyncGenerator<RangeMessage[]> {
  const { network, assembler, trail, signal, report } = options
  await returnToChain(client, options)
  const from = nextBlock(options)
  const ranges = readRanges(client, {
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
  client: Client,
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
    await returnToChain(client, options)
  }
  const first = nextBlock(options)
  const last = Math.min(head.number, first + BLOCKS_AT_ONCE - 1)
  const headers = await linked(client, first, last, head, trail.tip)
  const logs = await Promise.all(headers.map((header) => getLogs(client, assembler.filter, { blockHash: header.hash })))
  const contents = await assembler.assemble(logs.flat(), headers)
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

/** The headers from `first` on, as far as each is the parent of the next: a chain that changes meanwhile is seen on the next look. */
async function linked(
  client: Client,
  first: number,
  last: number,
  head: Header,
  tip: BlockRef | undefined,
): Promise<Header[]> {
  const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
  const headers = await Promise.all(
    numbers.map((number) => (number === head.number ? head : getHeader(client, number))),
  )
  const chain: Header[] = []
  let parent = tip?.hash
  for (const header of headers) {
    if (!header || (parent !== undefined && header.parentHash !== parent)) break
    chain.push(header)
    parent = header.hash
  }
  return chain
}

/** Steps back to the newest block of the trail that is still on the chain. */
async function returnToChain(client: Client, options: FollowOptions): Promise<void> {
  const { network, assembler, trail, report } = options
  const tip = trail.tip
  if (!tip) return
  const ancestor = await trail.commonAncestor(client)
  if (!ancestor) throw new ChainReplaced(network.name, tip)
  if (ancestor.number === tip.number) return
  report({ kind: 'reorg', network: network.name, ancestor: ancestor.number, depth: tip.number - ancestor.number })
  trail.rollBack(ancestor)
  assembler.rollBack(ancestor.number)
  // The price may have come from a block that is gone; the one before it counts again.
  await bootstrapPrices(client, network, assembler.usd, ancestor.number + 1)
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
