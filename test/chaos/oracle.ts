/** Whether what is stored after all that happened is what must be stored. */
import type { ClickHouseClient } from '@clickhouse/client'
import { expect } from 'vitest'
import { RESOLUTIONS } from '../../aggregator/candles/candle.ts'
import { verify } from '../../aggregator/extras/verify/verify.ts'
import { rebuild } from '../../aggregator/maintenance/rebuild.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { networkOf } from '../aggregator/running.ts'
import { MARKET_TABLES, tablesOf } from '../aggregator/tables.ts'

export type Pair = {
  /** Name of the failure: `SEED=7`. */
  name: string
  network: NetworkName
  clean: NetworkName
  /** Ranges leave fewer blocks, and which ones depends on where they were cut: the tip says what matters. */
  onlyTip?: boolean
}

const never = new AbortController().signal

/** Every table equals a clean run's, the candles equal a rebuild's, and verify finds nothing. */
export async function expectOracle(client: ClickHouseClient, pairs: readonly Pair[]): Promise<void> {
  for (const { network } of pairs) await rebuildApart(client, network)
  const [tables, coverage] = await Promise.all([tablesOf(client), coverageOf(client)])
  for (const { name, network, clean, onlyTip = false } of pairs) {
    const [found, wanted] = [tables(network), tables(clean)]
    for (const table of MARKET_TABLES) {
      const rows = [found[table], wanted[table]].map((all) =>
        table === 'blocks' && onlyTip ? all.slice(-1).map(refOf) : all,
      )
      expectSame(rows[0], rows[1], `${name}: ${table}`)
    }
    expect(found.candles.length, name).toBeGreaterThan(0)
    expectSame(found.candles, tables(rebuiltOf(network)).candles, `${name}: candles beside a rebuild`)
    expectSame(coverage.get(network), coverage.get(clean), `${name}: coverage`)
    const differences = []
    for await (const one of verify(client, { network, signal: never })) differences.push(one)
    expect(differences, `${name}: verify`).toStrictEqual([])
  }
}

function refOf(row: string): string {
  const { number, hash } = JSON.parse(row) as Record<string, string>
  return `${number} ${hash}`
}

/** Only the first rows of a difference: all of them would fill pages. */
function expectSame(found: readonly string[] = [], wanted: readonly string[] = [], what: string): void {
  const [there, clean] = [new Set(found), new Set(wanted)]
  const phantom = found.filter((row) => !clean.has(row))
  const missing = wanted.filter((row) => !there.has(row))
  const shown = { rows: found.length, phantom: phantom.slice(0, 3), missing: missing.slice(0, 3) }
  expect(shown, what).toStrictEqual({ rows: wanted.length, phantom: [], missing: [] })
}

const rebuiltOf = (network: NetworkName) => networkOf(`${network}-rebuilt`)

/** From the same ticks, with nothing else to go by. */
async function rebuildApart(client: ClickHouseClient, network: NetworkName): Promise<void> {
  const name = rebuiltOf(network)
  await client.command({
    query: `INSERT INTO ticks SELECT * REPLACE ({name:String} AS network)
      FROM (SELECT * FROM ticks WHERE network = {network:String})`,
    query_params: { name, network },
  })
  const everything = { pools: undefined, resolutions: RESOLUTIONS, from: 0, to: 2 ** 32 - 1 }
  await rebuild(client, { network: name, ...everything, version: 1n, signal: never })
}

async function coverageOf(client: ClickHouseClient): Promise<Map<string, string[]>> {
  const answer = await client.query({
    query: 'SELECT * EXCEPT version FROM coverage FINAL ORDER BY ALL',
    format: 'JSONStringsEachRow',
  })
  const rows = new Map<string, string[]>()
  for (const { network = '', ...row } of await answer.json<Record<string, string>>()) {
    const known = rows.get(network) ?? []
    rows.set(network, known)
    known.push(JSON.stringify(row))
  }
  return rows
}
