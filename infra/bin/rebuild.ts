/** `npm run rebuild`: recomputes candles from ticks beside the live ones, then swaps them in. */
import { RESOLUTIONS } from '../../aggregator/candles/candle.ts'
import { NETWORK_NAMES } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { rebuildCandles } from '../jobs/rebuild-job.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print } from '../process/command.ts'
import { commandLine, type Help, networkOf, optionsOf, secondOf, usageOf } from '../process/help.ts'
import { runProcess } from '../process/run.ts'

const POOL = /^0x([0-9a-f]{40}|[0-9a-f]{64})$/

const HELP: Help = {
  does: 'Recomputes candles from their ticks beside the live ones, then swaps them in.',
  usage: [
    `npm run rebuild -- --network NAME [--resolution ${RESOLUTIONS.join('|')}]… [--pool POOL]… [--from TIME] [--to TIME]`,
  ],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--resolution SECONDS', 'only candles of this width; may be repeated'],
    ['--pool POOL', 'only this v3 pool address or v4 pool id; may be repeated'],
    ['--from TIME', 'the first day: 2024-01-05 or 2024-01-05T00:00:00Z'],
    ['--to TIME', 'the last day'],
  ],
  examples: ['npm run rebuild -- --network ethereum --resolution 60'],
}

const request = commandLine(HELP, readRequest)
await runProcess(async (run) => {
  await rebuildCandles(request, run)
  if (!run.signal.aborted) print('Rebuilt.')
})

function readRequest(): Parameters<typeof rebuildCandles>[0] {
  const text = { type: 'string' } as const
  const many = { type: 'string', multiple: true } as const
  const values = optionsOf(HELP, { network: text, resolution: many, pool: many, from: text, to: text })
  const network = networkOf(HELP, values.network)
  const resolutions = (values.resolution ?? []).map((text) => {
    const resolution = RESOLUTIONS.find((it) => String(it) === text)
    if (!resolution) throw new UsageError(`--resolution is none of ${RESOLUTIONS.join(', ')} seconds\n${usageOf(HELP)}`)
    return resolution
  })
  const pools = values.pool?.map((text) => {
    if (POOL.test(text.toLowerCase())) return text.toLowerCase() as PoolId
    throw new UsageError(`--pool is neither a v3 pool address nor a v4 pool id\n${usageOf(HELP)}`)
  })
  const from = secondOf(HELP, '--from', values.from) ?? 0
  return { network, resolutions, pools, from, to: secondOf(HELP, '--to', values.to) ?? 2 ** 32 - 1 }
}
