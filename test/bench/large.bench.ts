/**
 * A large history over endpoints and from files, each in a process of its own: ticks a second to candles that can be read, memory at its highest,
 * parts at the end, what `verify` finds wrong, and whether both have the same ticks and candles. SWAPS and SOURCES scale it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aggregate } from '../../aggregator/aggregate.ts'
import { verify } from '../../aggregator/extras/verify/verify.ts'
import { ask } from '../../aggregator/store/store.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import { temporaryFolder } from '../support/candlepool.ts'
import { DENSE } from './bare-loop.ts'
import { startChain } from './chain-node.ts'
import { costOf, figure, title } from './figure.ts'
import { backfillAll } from './history.ts'
import { writeHistoryFiles } from './history-files.ts'
import { cpuMs, enginePid } from './load-use.ts'

const SWAPS = Number(process.env['SWAPS'] ?? 10_000_000)
const SOURCES = (process.env['SOURCES'] ?? 'endpoints,files').split(',')
const BLOCKS = Math.ceil(SWAPS / DENSE.swapsPerBlock)
/** Set in the processes that store. */
const [source, url] = [process.env['BENCH_SOURCE'], process.env['BENCH_URL'] ?? '']

/** Sums that do not depend on the order of rows, nor on their versions. */
const DIGEST = `SELECT toString(count()) AS ticks, toString(sum(cityHash64(pool, time, block, log_index, transaction_hash, amount0, amount1, sqrt_price,
    liquidity, pool_tick, fee, price, spot_price, amount_usd, sender))) AS digest,
    (SELECT toString(sum(cityHash64(pool, resolution, time, open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1,
      volume_usd, trades))) FROM candles FINAL WHERE trades > 0) AS candles
  FROM ticks FINAL`

if (source === undefined) await bench()
else await store(source)
process.exit()

async function bench(): Promise<void> {
  const chain = await startChain({ latencyMs: 0, head: BLOCKS + 1_000, swapsPerBlock: DENSE.swapsPerBlock })
  const digests: unknown[] = []
  for (const source of SOURCES) {
    const child = fork(import.meta.filename, { env: { ...process.env, BENCH_SOURCE: source, BENCH_URL: chain.url } })
    child.on('message', (digest) => digests.push(JSON.stringify(digest)))
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`The process that reads ${source} has ended with ${code}.`)
  }
  title('both sources')
  figure('different contents (1: the same)', new Set(digests).size, 'contents')
  await chain.stop()
}

async function store(source: string): Promise<void> {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'store')
  const files = source === 'files' ? await writeHistoryFiles(url, BLOCKS) : undefined
  const opened = await openStore({ store: { kind: 'embedded' } }, path, () => {})
  const client = opened.owner
  const stopping = new AbortController()
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const position = { generation: 0, offset: 0 }
  const options = { network: 'ethereum', log, history, position, report: () => {}, signal: stopping.signal } as const
  const aggregating = aggregate(client, options)
  title(`${SWAPS.toLocaleString('en')} swaps, ${source}`)
  const engine = await enginePid(path)
  const engineMs = await cpuMs(engine)
  const { seconds, cpuSeconds } = await costOf(() => backfillAll(url, BLOCKS, history, files?.source))
  figure('to candles that can be read', SWAPS / seconds, 'ticks/s')
  figure('this process', (cpuSeconds / SWAPS) * 1e6, 'µs/tick')
  figure('the engine', (((await cpuMs(engine)) - engineMs) / SWAPS) * 1e3, 'µs/tick')
  figure('this process, memory at its highest', await highest(process.pid), 'MiB')
  figure('the engine, memory at its highest', await highest(engine), 'MiB')
  for (const table of ['ticks', 'candles']) {
    const [{ parts = 0, bytes = 0, rows = 1 } = {}] = await ask<Record<'parts' | 'bytes' | 'rows', number>>(
      client,
      `SELECT toFloat64(count()) AS parts, toFloat64(sum(bytes_on_disk)) AS bytes, toFloat64(sum(rows)) AS rows FROM system.parts
       WHERE active AND database = currentDatabase() AND table = {table:String}`,
      { table },
    )
    figure(`table ${table}`, parts, 'parts')
    figure(`table ${table}, ${rows.toLocaleString('en')} rows`, bytes / rows, 'B/row')
  }
  let wrong = 0
  for await (const _ of verify(client, { network: 'ethereum', signal: stopping.signal })) wrong++
  figure('verify: differences', wrong, '')
  process.send?.(await ask(client, DIGEST, {}, { clickhouse_settings: { max_threads: 2 } }))
  stopping.abort()
  await Promise.all([log.close(), history.close()])
  await aggregating
  await opened.close()
  await files?.close()
  await folder.remove()
}

async function highest(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1_024
}
