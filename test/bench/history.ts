/** Our own backfill of a made-up chain, as the benches run it. */

import { encode } from '../../infra/kafka/wire/encode.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { HistorySource } from '../../ingest/backfill/history-source.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { IN_FLIGHT } from './bare-loop.ts'

/** A log that is done with a message once it is bytes. */
export const encodingLog: TickLog<RangeOverwrite> = {
  append: async (messages) => {
    for (const message of messages) encode(message)
  },
  last: async () => undefined,
  at: async () => undefined,
  async *read() {},
}

export async function backfillAll(
  url: string,
  blocks: number,
  log: TickLog<RangeOverwrite>,
  source?: HistorySource,
): Promise<void> {
  const { endpoints } = connectChain([url], { headerProof: 'off' })
  await backfill(endpoints, {
    network: NETWORKS.ethereum,
    job: 1,
    source,
    ranges: [{ from: 1, to: blocks }],
    pools: undefined,
    concurrency: IN_FLIGHT,
    log,
    report: () => {},
    signal: new AbortController().signal,
  })
}
