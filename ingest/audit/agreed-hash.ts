/** The hash of a block as most voices have it. */
import type { Hash } from 'viem'
import { mostOf } from '../rpc/endpoints/agreement.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { getHeader } from '../rpc/rpc.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'

/** Undefined where the voices that answer disagree and no more than half of them have one hash. */
export async function agreedHash(
  endpoints: Pick<Endpoints, 'askVoices' | 'run'>,
  number: number,
): Promise<Hash | undefined> {
  const answers = await endpoints.askVoices((client) => getHeader(client, number))
  const hashes = answers.flatMap(({ answer }) => answer?.hash ?? [])
  if (hashes.length > 0) return mostOf(hashes)
  // All of them rest, or are behind.
  return endpoints.run(async (client) => {
    const header = await getHeader(client, number)
    if (!header) throw new BadAnswer('behind', `The node has no block ${number}.`)
    return header.hash
  })
}
