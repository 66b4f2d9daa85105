/** GET /v0/health: the tip and lag of each network. Without a key. */
import type { RequestHandler } from 'express'
import { sendAnswer, setDevnet } from '../http/headers.ts'
import type { Market, NetworkStatus } from '../market/market.ts'
import { lagSeconds } from '../market/model/tip.ts'
import { formatTime } from '../query/time.ts'

export function getHealth(market: Market, clock: () => Date): RequestHandler {
  return async function health(_req, res) {
    const networks = await market.status()
    if (networks.some((status) => status.network.devnet)) setDevnet(res)
    const now = Math.floor(clock().getTime() / 1000)
    const status = networks.some(({ halts }) => halts.length > 0) ? 'degraded' : 'ok'
    sendAnswer(res, { status, networks: networks.map((it) => toNetwork(it, now)) }, false)
  }
}

function toNetwork({ network, tip, halts }: NetworkStatus, now: number) {
  return {
    network: network.name,
    devnet: network.devnet,
    tip: tip === undefined ? null : { number: tip.number, hash: tip.hash, time: formatTime(tip.timestamp) },
    lag_seconds: tip === undefined ? null : lagSeconds(tip, now),
    // Operators get the reason from `npm run status` and the log.
    halted: halts.length === 0 ? null : haltedOf(halts),
  }
}

function haltedOf(halts: NetworkStatus['halts']) {
  const since = Math.min(...halts.map((halt) => halt.since))
  return { stages: halts.map(({ stage }) => stage).sort(), since: formatTime(since) }
}
