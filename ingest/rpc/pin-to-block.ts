/** Pins requests to one branch of the chain: an answer counts only where the node has a given block. */
import type { Client } from 'viem'
import type { BlockRef } from '../model/message.ts'
import type { RunOptions } from './endpoint-choice.ts'
import type { Endpoints } from './endpoints.ts'
import { getHeader } from './rpc.ts'
import { BadAnswer } from './rpc-error.ts'

/**
 * `endpoints`, restricted to nodes that have `block` and thus all of its ancestors. The header is requested together with the task, because
 * the next request may reach another node behind the same address.
 */
export function pinToBlock<Asked extends Pick<Endpoints, 'run'>>(endpoints: Asked, block: BlockRef): Asked {
  return {
    ...endpoints,
    run<T>(task: (client: Client) => Promise<T>, options?: RunOptions) {
      return endpoints.run(
        async (client) => {
          // In this order: where the two are sent apart, a node may have returned to the chain in between.
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
