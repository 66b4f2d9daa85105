/** A clean run: one process that is told the last chain and what jobs have stated, and that nothing happens to. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { networkOf } from '../aggregator/running.ts'
import { asBlocks, type Chain } from '../support/chain.ts'
import { doomed } from './crash-client.ts'
import { HAND_OVER } from './logs.ts'
import { startProcess } from './process.ts'
import { expectTruth } from './truth.ts'

export async function cleanRun(
  client: ClickHouseClient,
  network: NetworkName,
  chain: Chain,
  stated: readonly Restatement[] = [],
): Promise<void> {
  const roads = await HAND_OVER.open(network)
  const process = await startProcess({ network, roads, kept: undefined, doomed: doomed(client, undefined, () => {}) })
  await process.append(asBlocks(network, chain))
  await process.restate(stated.map((one) => ({ ...one, network })))
  const failure = await process.stop()
  await roads.close()
  if (failure) throw failure
}

/** What is stored of the network is what a clean run leaves. */
export async function expectCleanRun(
  client: ClickHouseClient,
  network: NetworkName,
  chain: Chain,
  stated: readonly Restatement[] = [],
): Promise<void> {
  const clean = networkOf(`${network}-clean`)
  await cleanRun(client, clean, chain, stated)
  await expectTruth(client, [{ name: network, network, clean }])
}
