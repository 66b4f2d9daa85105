/** `npm run verify`: compares every candle with its ticks and every block with its digest; `--repair` fixes differences. */

import type { Difference } from '../../aggregator/extras/verify/differences.ts'
import { verify } from '../../aggregator/extras/verify/verify.ts'
import { isAnyKnown } from '../../aggregator/history/known-ranges.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import { readHistory } from '../jobs/read-history.ts'
import { rebuildCandles } from '../jobs/rebuild-job.ts'
import { print } from '../process/command.ts'
import { withTables } from '../process/deployment.ts'
import { commandLine, type Help, networkOf, optionsOf, secondOf } from '../process/help.ts'
import { type Run, runProcess } from '../process/run.ts'

const HELP: Help = {
  does: 'Holds every candle beside its ticks, and every block beside its count and digest. Exits with 1 where something differs, with 2 where nothing is stored.',
  usage: ['npm run verify -- --network NAME [--from TIME] [--to TIME] [--repair]'],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--from TIME', 'the first day: 2024-01-05 or 2024-01-05T00:00:00Z'],
    ['--to TIME', 'the last day'],
    ['--repair', 'reads blocks that differ again, and rebuilds candles that differ'],
  ],
  examples: ['npm run verify -- --network ethereum --from 2026-11-01'],
}
const SHOWN = 20
/** Pool ids are sent in the URL of the query: above this limit all pools are rebuilt. */
const MAX_POOLS = 500

type Request = { network: NetworkName; from: number | undefined; to: number | undefined; repair: boolean }

/** Exit code beside 0 (no difference) and 1 (differences). */
const NOTHING_STORED = 2

const request = commandLine(HELP, readRequest)
await runProcess(async (run) => {
  const found = await verifyStore(request, run)
  if (found === 'nothing stored') {
    print(`Nothing is stored of ${request.network}: there is nothing to verify.`)
    process.exitCode = NOTHING_STORED
    return
  }
  if (found.length === 0 || run.signal.aborted) return
  if (request.repair) {
    await repair(request.network, found, run)
    print('Verifying again.')
    const left = await verifyStore(request, run)
    if (left === 'nothing stored' || left.length === 0) return
  }
  process.exitCode = 1
})

async function verifyStore({ network, from, to }: Request, run: Run): Promise<Difference[] | 'nothing stored'> {
  const { deployment, signal } = run
  const found: Difference[] = []
  let isEmpty = false
  await withTables(deployment, async ({ owner }) => {
    for await (const difference of verify(owner, { network, from, to, signal })) {
      found.push(difference)
      if (found.length <= SHOWN) print(describe(difference))
    }
    isEmpty = found.length === 0 && !(await isAnyKnown(owner, network))
  })
  if (isEmpty) return 'nothing stored'
  if (found.length > SHOWN) print(`… and ${found.length - SHOWN} more.`)
  print(found.length === 0 ? `${network}: everything agrees.` : `${network}: ${found.length} differences.`)
  return found
}

/** Ticks first: candles are made of them. */
async function repair(network: NetworkName, found: readonly Difference[], run: Run): Promise<void> {
  const ranges = rangesOf(found)
  for (const range of ranges) {
    print(`Reading blocks ${range.from} to ${range.to} again.`)
    await readHistory({ network, ...range, pools: undefined, concurrency: 4, again: true }, run)
  }
  const candles = found.filter((one) => one.kind === 'candle')
  if (candles.length === 0) return
  const pools = [...new Set(candles.map(({ pool }) => pool))]
  const starts = candles.map(({ start }) => start)
  await rebuildCandles(
    {
      network,
      pools: pools.length > MAX_POOLS ? undefined : pools,
      from: Math.min(...starts),
      to: Math.max(...starts),
    },
    run,
  )
}

/** Ranges of blocks whose ticks differ, adjacent blocks merged. */
function rangesOf(found: readonly Difference[]): BlockRange[] {
  const ranges: BlockRange[] = []
  for (const one of found) {
    if (one.kind === 'candle') continue
    const range = one.kind === 'block' ? { from: one.number, to: one.number } : { from: one.from, to: one.to }
    const last = ranges.at(-1)
    if (last && range.from <= last.to + 1) last.to = Math.max(last.to, range.to)
    else ranges.push(range)
  }
  return ranges
}

function describe(one: Difference): string {
  if (one.kind === 'candle') {
    const time = new Date(one.start * 1000).toISOString().replace('.000', '')
    const show = (facts: readonly string[] | undefined) => facts?.join(' ') ?? 'none'
    return `candle ${one.pool} ${one.resolution} s ${time}\n  stored  ${show(one.stored)}\n  counted ${show(one.counted)}`
  }
  const { stored, counted } = one
  const where = one.kind === 'block' ? `block ${one.number}` : `blocks ${one.from} to ${one.to}, stated by a job`
  const known = stored ? `${stored.ticks} ticks, digest ${stored.digest}` : 'not on the ledger'
  return `${where}\n  stored  ${known}\n  counted ${counted.ticks} ticks, digest ${counted.digest}`
}

function readRequest(): Request {
  const text = { type: 'string' } as const
  const { network, from, to, repair } = optionsOf(HELP, {
    network: text,
    from: text,
    to: text,
    repair: { type: 'boolean', default: false },
  })
  return {
    network: networkOf(HELP, network),
    from: secondOf(HELP, '--from', from),
    to: secondOf(HELP, '--to', to),
    repair,
  }
}
