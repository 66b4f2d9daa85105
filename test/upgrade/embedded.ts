/** `npm start` of a version on a folder, and the tables there. */
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { type Running, run, temporaryFolder } from '../support/candlepool.ts'
import { until } from '../support/until.ts'
import { type GrowingChain, marketOf, untilStored } from './scene.ts'

/** Resolves once the API listens. */
export async function started(root: string | undefined, environment: Record<string, string>): Promise<Running> {
  const process = run('start', environment, [], { root })
  await process.untilPrinted(/"kind":"server-listening"/)
  return process
}

export async function withTables<T>(
  dataDir: string,
  chain: GrowingChain,
  read: (client: ClickHouseClient) => Promise<T>,
): Promise<T> {
  const engine = await until(() => findEngine(join(dataDir, 'store')), 'the engine answers')
  const client = connect({ url: engine.url, database: engine.database, ...engine.users.owner })
  await untilStored(client, chain.head())
  const found = await read(client)
  await client.close()
  return found
}

/** Tables of a version that has read the same chain alone. */
export async function cleanRun(root: string | undefined, chain: GrowingChain): Promise<Record<string, string[]>> {
  const folder = await temporaryFolder()
  const main = await started(root, { ...chain.environment, DATA_DIR: folder.path, PORT: '0' })
  const rows = await withTables(folder.path, chain, marketOf)
  await main.stop('SIGTERM')
  await folder.remove()
  return rows
}
