/** Start of chapters 4 and 6: a recorded day, read by the listener and stored by the aggregator, with `log` between them. */
import type { ClickHouseClient } from '@clickhouse/client'
import { createClient, http } from 'viem'
import { aggregate } from '../../aggregator/aggregate.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { listen } from '../../ingest/follow/listener.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { endpointsOf } from '../../ingest/rpc/endpoints/endpoints.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { until } from '../support/until.ts'

/** The tables of `client` are empty before, and hold the whole day when it resolves. */
export async function storeDay(client: ClickHouseClient, log: TickLog): Promise<void> {
  const node = await startRecordedDay()
  const stopping = new AbortController()
  const shared = { log, report: () => {}, signal: stopping.signal }
  const stored = storedChain(client, 'ethereum')
  const start = { kind: 'block', number: DAY.firstBlock } as const
  const stages = [
    listen(endpointsOf([createClient({ transport: http(node.url) })], { headerProof: 'off' }), {
      network: NETWORKS.ethereum,
      stored,
      start,
      ...shared,
    }),
    aggregate(client, { network: 'ethereum', position: { generation: 0, offset: 0 }, ...shared }),
  ]
  await until(async () => ((await stored.tip())?.number === DAY.lastBlock ? true : undefined), 'the day is stored')
  stopping.abort()
  await Promise.all(stages)
  await node.stop()
}
