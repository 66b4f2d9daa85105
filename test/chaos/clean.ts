/** A clean run: one process that is told the last chain and what jobs have stated, and that nothing happens to. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { networkOf } from '../aggregator/running.ts'
import { asBlocks, type Chain } from '../support/chain.ts'
import { createCrashClient } from './crash-client.ts'
import { IN_PROCESS } from './logs.ts'
import { expectOracle } from './oracle.ts'
import { startProcess } from './process.ts'

export async function cleanRun(
  client: ClickHouseClient,
  network: NetworkName,
  chain: Chain,
  stated: readonly RangeOverwrite[] = [],
): Promise<void> {
  const logs = await IN_PROCESS.open(network)
  const process = await startProcess({
    network,
    logs,
    kept: undefined,
    crashClient: createCrashClient(client, undefined, () => {}),
  })
  await process.append(asBlocks(network, chain))
  await process.overwrite(stated.map((one) => ({ ...one, network })))
  const failure = await process.stop()
  await logs.close()
  if (failure) throw failure
}

/** Expects the rows that a clean run leaves. */
export async function expectCleanRun(
  client: ClickHouseClient,
  network: NetworkName,
  chain: Chain,
  stated: readonly RangeOverwrite[] = [],
): Promise<void> {
  const clean = networkOf(`${network}-clean`)
  await cleanRun(client, clean, chain, stated)
  await expectOracle(client, [{ name: network, network, clean }])
}
