/** A rebuild: candles are recomputed from ticks into a table beside the live one, and attached at once. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Resolution } from '../candles/candle.ts'
import type { TouchedPool } from '../candles/recompute.ts'
import { slicesOf } from '../candles/slices.ts'
import { ask, loadSql, run } from '../store/store.ts'

const candlesFromTicks = loadSql(import.meta.url, '../candles/candles_from_ticks.sql')

export type RebuildOptions = {
  network: NetworkName
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
  resolutions: readonly Resolution[]
  /** Every bucket of the days from `from` to `to`, both included. */
  from: UnixSeconds
  to: UnixSeconds
  /** Version of the rows: above all earlier ones, below all later ones. */
  version: bigint
  onProgress?: (share: number) => Promise<void>
  /** Called once all candles are recomputed, before they are attached. */
  beforeSwap?: (() => Promise<void>) | undefined
  signal: AbortSignal
}

/**
 * Whatever the stream writes meanwhile has a higher version and is right by itself, so that nothing waits for a rebuild.
 * Readers see the old candles until the last statement, and the new ones from then on. Returns the buckets that were recomputed.
 */
export async function rebuild(client: ClickHouseClient, options: RebuildOptions): Promise<TouchedPool[]> {
  const { network, resolutions, version, signal, onProgress, beforeSwap } = options
  const into = `rebuilt_candles_${network}`
  await run(client, 'DROP TABLE IF EXISTS {into:Identifier}', { into })
  const engine = plainEngine(await engineOf(client, 'candles'))
  await run(client, `CREATE TABLE {into:Identifier} AS candles ENGINE = ${engine}`, { into })
  const slices = await slicesOf(client, network, options)
  for (const [index, slice] of slices.entries()) {
    for (const resolution of resolutions) {
      signal.throwIfAborted()
      await run(client, candlesFromTicks, { into, network, resolution, version: version.toString(), ...slice })
    }
    await onProgress?.((index + 1) / slices.length)
  }
  await beforeSwap?.()
  // Names of networks are ours; this statement takes no parameter there.
  await run(client, `ALTER TABLE candles ATTACH PARTITION tuple() FROM \`${into}\``, {})
  await run(client, 'DROP TABLE {into:Identifier}', { into })
  return slices.flatMap(({ pools, from, to }) => pools.map((pool) => ({ pool, first: from, last: to - 1 })))
}

async function engineOf(client: ClickHouseClient, table: string): Promise<string> {
  const [row] = await ask<{ engine: string }>(
    client,
    'SELECT engine_full AS engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}',
    { table },
  )
  return row?.engine ?? ''
}

/** The engine of a temporary table, which is not replicated: two tables cannot share a path in Keeper. */
export function plainEngine(full: string): string {
  return full.replace(/^Replicated(\w+)\('[^']*', '[^']*'(?:, )?/, '$1(')
}
