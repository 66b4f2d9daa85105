/** One branch of the chain: what is asked on it is only believed of a node that has its block. */
import type { Client } from 'viem'
import type { BlockRef } from '../model/message.ts'
import type { Endpoints, RunOptions } from './endpoints.ts'
import { getHeader } from './rpc.ts'
import { BadAnswer } from './rpc-error.ts'

/**
 * `endpoints`, of which only those count that have `block`, and with it all that lies below. The block is asked for together
 * with whatever else a node is asked: the next request may well go to another node, on another branch.
 */
export function pinToBlock<Asked extends Pick<Endpoints, 'run'>>(endpoints: Asked, block: BlockRef): Asked {
  return {
    ...endpoints,
    run<T>(task: (client: Client) => Promise<T>, options?: RunOptions) {
      return endpoints.run(
        async (client) => {
          // In this order: where the two are sent apart, a node may have come back to the chain in between.
          const [header, answer] = await Promise.all([getHeader(client, block.number), task(client)])
          if (header?.hash === block.hash) return answer
          const place = header ? `has ${header.hash} in the place of` : 'does not have'
          throw new BadAnswer('behind', `The node ${place} block ${block.number} (${block.hash}).`)
        },
        { ...options, atLeast: Math.max(block.number, options?.atLeast ?? 0) },
      )
    },
  }
}
