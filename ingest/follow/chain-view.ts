/** Polls one node: its head, its finality, and where it left the blocks that were appended. */
import type { Client } from 'viem'
import type { Assembler } from '../blocks/assemble.ts'
import { BLOCK_BY_BLOCK } from '../blocks/recent-blocks.ts'
import type { BlockRef } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import type { Finality } from '../rpc/finality.ts'
import { getFinality, getHeads, type Header, type Heads } from '../rpc/rpc.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import type { AnnouncedHeads } from './announced-heads.ts'
import { type HeadPrefetch, prefetch } from './head-prefetch.ts'
import type { UnfinalizedChain } from './unfinalized-chain.ts'

export type ViewOptions = {
  network: Network
  assembler: Assembler
  /** Blocks that were appended before; empty for an empty store. */
  chain: UnfinalizedChain
  /** First block to read where `chain` is empty. */
  firstBlock: number
  /** Heads announced by nodes. */
  announced: AnnouncedHeads
  pollMs: number
}

/** Finality is requested with one poll of so many, or rather after their time, and at least every 15 seconds. */
const FINALITY_POLLS = 12
const MAX_FINALITY_AGE_MS = 15_000

/**
 * One node's view of the chain. `head` is read now: the node's own head, or the newest announced one where `early` has read it.
 * `ancestor` is the newest block of `chain` that the node has.
 */
export type ChainView = Heads & { chainHead: Header; ancestor: BlockRef | undefined; early: HeadPrefetch | undefined }

/**
 * Reads the view from one endpoint. Throws `ChainReplaced` only where every endpoint has replaced a final block: a single endpoint may stay
 * on a fork.
 */
export function pollChain(endpoints: Endpoints, options: ViewOptions): Promise<ChainView> {
  const { network, chain, firstBlock, assembler } = options
  const { tip } = chain
  const announced = options.announced.after(tip, BLOCK_BY_BLOCK.blocksAtOnce)
  const newest = announced.at(-1)
  const { finality } = endpoints
  const maxAgeMs = Math.min(MAX_FINALITY_AGE_MS, options.pollMs * FINALITY_POLLS)
  const isPollDue = options.announced.isPollDue || !finality.isRecent(maxAgeMs)
  // In an empty store the first message must be final.
  const readHeads = (client: Client) => (tip ? getHeads(client, finality, maxAgeMs) : getFinality(client, finality))
  return endpoints.run(
    async (client) => {
      const early = newest && prefetch(client, { announced, newest }, assembler)
      if (early && !isPollDue) {
        const read = (await early.blocks)?.at(-1)?.header
        if (read) return { ...announcedHeads(read, finality), ancestor: tip, early }
      }
      const heads = await readHeads(client).catch(async (error) => {
        await early?.balances.discard()
        throw error
      })
      const { head, finalized = -1 } = heads
      // Heads newer than the announced ones are read at the next poll, which follows at once.
      const read = (await early?.blocks)?.at(-1)?.header
      if (early && read && isUpTo(read, head)) {
        options.announced.notePoll(true)
        return { ...heads, head: read, chainHead: head, ancestor: tip, early }
      }
      await early?.balances.discard()
      // The first stored block must be final: all others may be replaced.
      if (!tip && firstBlock > Math.max(0, finalized)) {
        throw new BadAnswer('behind', `At the node block ${finalized} is final, and block ${firstBlock} not yet.`)
      }
      if (tip && head.number < tip.number && chain.has(head)) {
        throw new BadAnswer('behind', `The node's head is block ${head.number}; block ${tip.number} was read already.`)
      }
      // The same tip or its child: the common case needs no further request.
      const goesOn = tip?.hash === head.hash || isChild(head, tip)
      const ancestor = goesOn ? tip : await chain.ancestorOn(client, network.name)
      options.announced.notePoll(ancestor === undefined || ancestor.number === tip?.number)
      return { ...heads, chainHead: head, ancestor, early: undefined }
    },
    // A node whose head was not requested for a while is not known to be behind.
    newest && !isPollDue ? {} : { atLeast: tip?.number },
  )
}

/**
 * Announced blocks that link to the tip are read without a request for the head, but for one in six seconds: a node may announce blocks of a
 * branch that was left.
 */
function announcedHeads(newest: Header, finality: Finality): Heads & { chainHead: Header } {
  const final = finality.below(newest.number)
  return { head: newest, chainHead: newest, finalized: final?.number, final, isGuess: false }
}

/** The node has answered both in one turn. */
function isUpTo(block: Header, head: Header): boolean {
  return head.number > block.number || head.hash === block.hash
}

function isChild({ number, parentHash }: Header, parent: BlockRef | undefined): boolean {
  return parent?.hash === parentHash && parent.number + 1 === number
}
