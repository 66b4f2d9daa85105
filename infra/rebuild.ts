/** `npm run rebuild`: candles made anew from ticks, beside the live ones, and swapped in at once. */
import { parseArgs } from 'node:util'
import { RESOLUTIONS, type Resolution } from '../aggregator/candle.ts'
import { NETWORK_NAMES, type NetworkName } from '../ingest/network.ts'
import { print, UsageError } from './command.ts'
import { rebuildCandles } from './rebuilding.ts'
import { runProcess } from './run.ts'

const USAGE = `Usage: npm run rebuild -- --network NAME [--resolution ${RESOLUTIONS.join('|')}]…`

await runProcess(async (run) => {
  const { network, resolutions } = readRequest()
  await rebuildCandles({ network, resolutions, pools: undefined, from: 0, to: 2 ** 32 - 1 }, run)
  if (!run.signal.aborted) print('Rebuilt.')
})

function readRequest(): { network: NetworkName; resolutions: Resolution[] } {
  const options = { network: { type: 'string' }, resolution: { type: 'string', multiple: true } } as const
  const { values } = parsed(() => parseArgs({ options, allowPositionals: false }))
  const network = NETWORK_NAMES.find((name) => name === values.network)
  if (!network) throw new UsageError(`--network is none of ${NETWORK_NAMES.join(', ')}\n${USAGE}`)
  const resolutions = (values.resolution ?? []).map((text) => {
    const resolution = RESOLUTIONS.find((it) => String(it) === text)
    if (!resolution) throw new UsageError(`--resolution is none of ${RESOLUTIONS.join(', ')} seconds\n${USAGE}`)
    return resolution
  })
  return { network, resolutions }
}

function parsed<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`)
  }
}
