/** A job's overwrite of some blocks, which differs from the listener's messages: each second block has lost its first swap. */
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Chain } from '../support/chain.ts'

export function overwriteOf(network: NetworkName, chain: Chain, job: number): RangeOverwrite[] {
  const [first, last] = [chain[0], chain.at(-1)]
  if (!first || !last) return []
  const { hash, timestamp } = last
  const blocks = chain.map(({ parentHash: _, ...block }, index) => ({ ...block, ticks: block.ticks.slice(index % 2) }))
  const stated = { from: first.number, to: last.number, firstTimestamp: first.timestamp, timestamp, hash, blocks }
  return [{ kind: 'restatement', network, job, pools: undefined, ...stated }]
}
