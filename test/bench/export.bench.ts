/**
 * Export of a history: rows a second into Parquet, all pools, day by day, beside bare `SELECT … FORMAT Parquet` of the views over the same rows,
 * columns of the same meaning, with the same settings, into files. DAYS scales it: a day has a million swaps.
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { exportHistory } from '../../api/extras/export/export.ts'
import type { ExportRequest } from '../../api/extras/export/request.ts'
import { EXPORT_SETTINGS } from '../../api/extras/export/statement.ts'
import { openMarket } from '../../api/market/market.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { timeOf } from './bare-insert.ts'
import { figure, title } from './figure.ts'
import { copyFirstDay, storeFirstDay } from './past.ts'
import type { Shape } from './synthetic.ts'

const DAYS = Number(process.env['DAYS'] ?? 3)
const ROUNDS = 3
const SHAPE: Shape = { network: 'ethereum', swapsPerBlock: 23, pools: 400, firstTime: Date.UTC(2025, 0, 1) / 1_000 }
const PERIOD = `network = 'ethereum' AND time >= {from:UInt32} AND time < {to:UInt32}`
const BARE = {
  ticks: `SELECT network, pool, transaction_hash, time, price, side, amount0, amount1, amount_usd, pair, block, log_index, sender FROM market_ticks WHERE ${PERIOD}`,
  candles: `SELECT network, pool, pair, time, open, high, low, close, volume1, trades FROM market_candles WHERE ${PERIOD} AND resolution = 60`,
} as const

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
const client = store.owner
await storeFirstDay(client, SHAPE)
await copyFirstDay(client, SHAPE, 1, DAYS)
const market = openMarket({ reader: client, networks: [NETWORKS.ethereum], clock: () => new Date(), freshMs: 0 })

for (const what of ['ticks', 'candles'] as const) {
  const milliseconds = { bare: 0, ours: 0 }
  let rows = 0
  for (let round = 0; round < ROUNDS; round++) {
    milliseconds.bare += await timeOf(() => bare(what))
    const out = join(folder, 'export')
    milliseconds.ours += await timeOf(async () => {
      rows += await exported(what, out)
    })
    await rm(out, { recursive: true })
  }
  title(`${what}: ${rows.toLocaleString('en')} rows into Parquet`)
  const rate = (of: keyof typeof milliseconds) => (rows / milliseconds[of]) * 1_000
  figure('bare SELECT … FORMAT Parquet of the view (floor)', rate('bare'), 'rows/s')
  figure('export', rate('ours'), 'rows/s', rate('bare'))
}
await store.close()
await rm(folder, { recursive: true, force: true })
process.exit()

async function exported(what: ExportRequest['what'], out: string): Promise<number> {
  const sources = { client, market, folder: out, signal: new AbortController().signal }
  const request = {
    network: NETWORKS.ethereum,
    view: undefined,
    what,
    interval: 60,
    price: 'execution',
    format: 'parquet',
  } as const
  return (await exportHistory(sources, request, {})).rows
}

async function bare(what: ExportRequest['what']): Promise<void> {
  for (let day = 0; day < DAYS; day++) {
    const from = SHAPE.firstTime + day * 86_400
    const { stream } = await client.exec({
      query: `${BARE[what]} FORMAT Parquet`,
      query_params: { from, to: from + 86_400 },
      clickhouse_settings: { ...EXPORT_SETTINGS, wait_end_of_query: 0 },
    })
    await pipeline(stream, createWriteStream(join(folder, 'bare.parquet')))
  }
}
