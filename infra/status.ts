/** `npm run status`: how far each network is read and stored. */
import { ask } from '../aggregator/store.ts'
import { askHead } from './chain-client.ts'
import { print, printTable, runCommand } from './command.ts'
import type { Config } from './config.ts'

type Row = { network: string; first: string; tip: string; seconds: number; ticks: string; pools: string }

await runCommand(async ({ owner }, config) => {
  const rows = await ask<Row>(
    owner,
    `SELECT network, toString(min(first)) AS first, toString(max(number)) AS tip, toUnixTimestamp(max(time)) AS seconds,
            (SELECT toString(count()) FROM ticks FINAL WHERE ticks.network = b.network) AS ticks,
            (SELECT toString(uniqExact(pool)) FROM pools FINAL WHERE pools.network = b.network) AS pools
     FROM blocks AS b FINAL GROUP BY network ORDER BY network`,
    {},
  )
  if (config.chain.kind === 'devnet') print('These are the tables of the devnet that stands in for ethereum.', '')
  if (rows.length === 0) return print('Nothing is stored yet.')
  printTable([
    ['NETWORK', 'FIRST BLOCK', 'STORED TIP', 'TIP TIME', 'LAG', 'HEAD', 'TICKS', 'POOLS'],
    ...(await Promise.all(
      rows.map(async ({ network, first, tip, seconds, ticks, pools }) => {
        const lag = Math.max(0, Math.round(Date.now() / 1000 - seconds))
        const time = new Date(seconds * 1000).toISOString().replace('.000', '')
        return [network, first, tip, time, `${lag} s`, await headOf(network, config), ticks, pools]
      }),
    )),
  ])
})

/** `-` where no endpoint is configured or none answers. */
async function headOf(network: string, { chain }: Config): Promise<string> {
  if (chain.kind === 'devnet') return '-'
  const urls = chain.networks.find((it) => it.network.name === network)?.urls
  if (!urls) return '-'
  const head = await askHead(urls)
  return head ? String(head.number) : '-'
}
