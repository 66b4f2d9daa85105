/** What stops a listener for good. Everything else is tried again. */
import type { BlockRef } from './message.ts'
import type { Network, NetworkName } from './network.ts'

/** None of the blocks that were passed on is on the node's chain any more: a break below finality, or another chain. */
export class ChainReplaced extends Error {
  override readonly name = 'ChainReplaced'
  readonly network: NetworkName
  readonly tip: BlockRef

  constructor(network: NetworkName, tip: BlockRef) {
    super(
      `The ${network} node is on another chain than what is stored: it has none of the newest stored blocks up to ${tip.number} (${tip.hash}). ` +
        `Check the RPC endpoint; if the chain itself was replaced, start with an empty DATA_DIR or CLICKHOUSE_DATABASE.`,
    )
    this.network = network
    this.tip = tip
  }
}

/** Every endpoint belongs to another network: no retry mends that. */
export class WrongChain extends Error {
  override readonly name = 'WrongChain'

  constructor({ name, chainId }: Pick<Network, 'name' | 'chainId'>, answered: number) {
    const variable = `${name.toUpperCase()}_RPC_URL`
    super(`${variable} answers as chain ${answered}, but ${name} is chain ${chainId}. Point it at a node of ${name}.`)
  }
}

/** A backfill states what is true for good, so it waits for finality. */
export class BlocksNotFinal extends Error {
  override readonly name = 'BlocksNotFinal'

  constructor(network: NetworkName, last: number, finalized: number) {
    super(`Block ${last} of ${network} is not final yet: a backfill can go up to block ${finalized} now.`)
  }
}

/** No retry helps, whoever is asked. */
export function isFinal(error: unknown): boolean {
  return error instanceof ChainReplaced || error instanceof WrongChain || error instanceof BlocksNotFinal
}
