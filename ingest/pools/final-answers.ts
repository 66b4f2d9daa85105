/** Answers of tokens at a final block, from one endpoint. */
import type { Address, Client } from 'viem'
import type { BlockRef } from '../model/message.ts'
import { isRefusal } from '../rpc/capped-reads.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import { readTokenAnswers, type TokenAnswers } from './token.ts'

export type FinalAnswers = { client: Client; answers: ReadonlyMap<Address, TokenAnswers> }

/**
 * At the state of `block`, which the node has. Many nodes keep the state of the newest blocks only: these are asked for their newest one, which
 * a later reading has to confirm anyway. `notFirst`: an endpoint of another voice is preferred.
 */
export function readFinalAnswers(
  endpoints: Pick<Endpoints, 'run'>,
  contracts: readonly Address[],
  block: BlockRef,
  notFirst?: Client,
): Promise<FinalAnswers> {
  return pinToBlock(endpoints, block).run(async (client) => {
    try {
      return { client, answers: await readTokenAnswers(client, contracts, { blockNumber: BigInt(block.number) }) }
    } catch (error) {
      if (!isRefusal(error)) throw error
      return { client, answers: await readTokenAnswers(client, contracts) }
    }
  }, notFirst && { notFirst })
}
