/** Our own backfill of a made-up chain, as the benches run it. */
import { connectChain } from '../../infra/chain-client.ts'
import { encode } from '../../infra/log/codec.ts'
import { backfill } from '../../ingest/backfill.ts'
import type { TickLog } from '../../ingest/log.ts'
import type { Restatement } from '../../ingest/message.ts'
import { NETWORKS } from '../../ingest/networks.ts'
import { IN_FLIGHT } from './bare-loop.ts'

/** A log that is done with a message once it is bytes. */
export const encodingLog: TickLog<Restatement> = {
  append: async (messages) => {
    for (const message of messages) encode(message)
  },
  last: async () => undefined,
  at: async () => undefined,
  async *read() {},
}

export function backfillAll(url: string, blocks: number, log: TickLog<Restatement>): Promise<void> {
  const { endpoints } = connectChain([url])
  return backfill(endpoints, {
    network: NETWORKS.ethereum,
    job: 1,
    ranges: [{ from: 1, to: blocks }],
    pools: undefined,
    concurrency: IN_FLIGHT,
    log,
    report: () => {},
    signal: new AbortController().signal,
  })
}
