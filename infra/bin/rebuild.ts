/** `npm run rebuild`: recomputes candles from ticks beside the live ones, then swaps them in. */
import { RESOLUTIONS, type Resolution } from '../../aggregator/candles/candle.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import { rebuildCandles } from '../jobs/rebuild-job.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print } from '../process/command.ts'
import { commandLine, type Help, networkOf, optionsOf, usageOf } from '../process/help.ts'
import { runProcess } from '../process/run.ts'

const HELP: Help = {
  does: 'Recomputes candles from their ticks beside the live ones, then swaps them in.',
  usage: [`npm run rebuild -- --network NAME [--resolution ${RESOLUTIONS.join('|')}]…`],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--resolution SECONDS', 'only candles of this width; may be repeated'],
  ],
  examples: ['npm run rebuild -- --network ethereum --resolution 60'],
}

const { network, resolutions } = commandLine(HELP, readRequest)
await runProcess(async (run) => {
  await rebuildCandles({ network, resolutions, pools: undefined, from: 0, to: 2 ** 32 - 1 }, run)
  if (!run.signal.aborted) print('Rebuilt.')
})

function readRequest(): { network: NetworkName; resolutions: Resolution[] } {
  const options = { network: { type: 'string' }, resolution: { type: 'string', multiple: true } } as const
  const values = optionsOf(HELP, options)
  const network = networkOf(HELP, values.network)
  const resolutions = (values.resolution ?? []).map((text) => {
    const resolution = RESOLUTIONS.find((it) => String(it) === text)
    if (!resolution) throw new UsageError(`--resolution is none of ${RESOLUTIONS.join(', ')} seconds\n${usageOf(HELP)}`)
    return resolution
  })
  return { network, resolutions }
}
