/** The newest stored block that the chain still has, after it was replaced below its finality: where a rewind goes back to. */
import type { BlockRef } from '../model/message.ts'
import type { StoredChain } from '../model/stored-chain.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { getHeader } from '../rpc/rpc.ts'

/** Undefined where the chain has no stored block below `replaced`. Takes a number of requests in the order of the logarithm of the depth. */
export async function commonAncestor(
  endpoints: Endpoints,
  stored: StoredChain,
  replaced: number,
): Promise<BlockRef | undefined> {
  const upTo = async (number: number): Promise<BlockRef | undefined> => (await stored.below(number + 1, 1))[0]
  /** Whether the newest stored block up to this one is on the chain, or there is none. */
  const isShared = async (number: number): Promise<boolean> => {
    const ref = await upTo(number)
    return !ref || (await endpoints.run((client) => getHeader(client, ref.number)))?.hash === ref.hash
  }
  let high = replaced
  let low = replaced - 1
  while (low >= 0 && !(await isShared(low))) {
    high = low
    low = replaced - 2 * (replaced - low)
  }
  for (low = Math.max(low, -1); low + 1 < high; ) {
    const middle = Math.floor((low + high) / 2)
    if (await isShared(middle)) low = middle
    else high = middle
  }
  return upTo(low)
}
