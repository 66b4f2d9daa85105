/** Pins requests to one branch of the chain: an answer counts only where the node has a given block. */
import type { Client } from 'viem'
import type { BlockRef } from '../../model/message.ts'
import { getHeader, type Header } from '../rpc.ts'
import { BadAnswer, classify, isRpcError, wordsOf } from '../rpc-error.ts'
import type { RunOptions } from './endpoint-choice.ts'
import type { Endpoints } from './endpoints.ts'

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
          const pin = getHeader(client, block.number)
          const [header, answer] = await Promise.all([pin, task(client)]).catch((error) =>
            lackOrSelf(error, pin, { client, block, oldest: options?.oldest }),
          )
          if (header?.hash === block.hash) return answer
          throw otherBranch(block, header)
        },
        { ...options, atLeast: Math.max(block.number, options?.atLeast ?? 0) },
      )
    },
  }
}

/**
 * A node that has the block and lacks `oldest` is not behind: it does not have its history any more. One that has both fails for another reason,
 * and one that has not even the block is behind, or on another branch, whatever it says.
 */
async function lackOrSelf(error: unknown, pin: Promise<Header | undefined>, lack: Lack): Promise<never> {
  const { client, block, oldest } = lack
  const kind = isRpcError(error) ? classify(error).kind : undefined
  if (kind !== 'behind' && kind !== 'pruned') throw error
  const header = await pin.catch(() => undefined)
  const hasBlock = header?.hash === block.hash
  if (kind === 'pruned' && !hasBlock) throw otherBranch(block, header)
  if (kind === 'pruned' || !hasBlock) throw error
  if (oldest !== undefined && (await getHeader(client, oldest).catch(() => undefined))) throw error
  throw new BadAnswer('pruned', `The node has block ${block.number}, and not an older one: ${wordsOf(error)}`)
}

function otherBranch({ number, hash }: BlockRef, header: Header | undefined): BadAnswer {
  const place = header ? `has ${header.hash} in the place of` : 'does not have'
  return new BadAnswer('behind', `The node ${place} block ${number} (${hash}).`)
}

type Lack = { client: Client; block: BlockRef; oldest: number | undefined }
