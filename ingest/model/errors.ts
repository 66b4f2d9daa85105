/** Errors that stop a listener or a job. All other errors are retried. */
import type { Hash } from 'viem'
import { asTyped } from '../lib/as-typed.ts'
import type { BlockRef } from './message.ts'
import type { Network, NetworkName } from './network.ts'

export type Replacement = {
  /** A block that no reorg should reach: a final one, or the oldest known one. */
  stored: BlockRef
  /** The node's hash at that height. */
  found: Hash
  wasFinal: boolean
}

/** A final block, or every known block, was replaced: a violation of finality, or another chain. */
export class ChainReplaced extends Error {
  override readonly name = 'ChainReplaced'
  readonly network: NetworkName
  readonly replacement: Replacement

  /** `ancestor`: the newest stored block that the chain still has, where it is known. */
  constructor(network: NetworkName, replacement: Replacement, ancestor?: BlockRef) {
    const { stored, found, wasFinal } = replacement
    const { number, hash } = stored
    const what = wasFinal
      ? `The ${network} chain was replaced below its finality: block ${number} was final as ${hash}, and is ${found} now.`
      : `The ${network} node is on another chain than what is stored: block ${number} is stored as ${hash}, and is ${found} there.`
    const to = ancestor ? `block ${ancestor.number}, the newest stored one that it still has` : 'a block below'
    super(
      `${what} Nothing stored was changed. Check that ${network.toUpperCase()}_RPC_URL names nodes of the right chain; ` +
        `if the chain itself was replaced, go back to ${to}: ${asTyped(`npm run rewind -- --network ${network} --to ${ancestor?.number ?? 'BLOCK'}`)}`,
    )
    this.network = network
    this.replacement = replacement
  }
}

/** Every endpoint serves another network. */
export class WrongChain extends Error {
  override readonly name = 'WrongChain'

  constructor({ name, chainId }: Pick<Network, 'name' | 'chainId'>, answered: number) {
    const variable = `${name.toUpperCase()}_RPC_URL`
    super(`${variable} answers as chain ${answered}, but ${name} is chain ${chainId}. Point it at a node of ${name}.`)
  }
}

/** A backfill stores final blocks only. */
export class BlocksNotFinal extends Error {
  override readonly name = 'BlocksNotFinal'

  constructor(network: NetworkName, last: number, finalized: number) {
    super(`Block ${last} of ${network} is not final yet: a backfill can go up to block ${finalized} now.`)
  }
}

/** Ticks of that time have expired: their retention is over. */
export class HistoryTooOld extends Error {
  override readonly name = 'HistoryTooOld'

  constructor(network: NetworkName, from: number, timestamp: number, oldest: number) {
    const [time, first] = [timestamp, oldest].map((it) => new Date(it * 1000).toISOString().replace('.000', ''))
    super(
      `Block ${from} of ${network} is of ${time}, and ticks are kept from ${first} on: begin with a later block, or raise TICKS_TTL_DAYS.`,
    )
  }
}

/** Exported history that cannot be used: it contradicts itself, its network or an endpoint. The message names the place and what to do. */
export class SourceRefused extends Error {
  override readonly name = 'SourceRefused'
}

/** Whether no retry at any endpoint can help. */
export function isFinal(error: unknown): boolean {
  return error instanceof ChainReplaced || error instanceof WrongChain || isRefusal(error)
}

/** Whether a backfill asked for blocks that it may not store, or named files that it may not use: the request is at fault, and nothing has failed. */
export function isRefusal(error: unknown): boolean {
  return error instanceof BlocksNotFinal || error instanceof HistoryTooOld || error instanceof SourceRefused
}
