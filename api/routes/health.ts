/** GET /v0/health: the tip and lag of each network, and why it is not read or stored as it should be. Without a key. */
import type { RequestHandler } from 'express'
import type { NetworkName } from '../../ingest/model/network.ts'
import { sendAnswer, setDevnet } from '../http/headers.ts'
import { orUnavailable } from '../lib/store.ts'
import type { Market, NetworkStatus } from '../market/market.ts'
import { lagSeconds, type Tips } from '../market/model/tip.ts'
import { formatTime } from '../query/time.ts'

/** A sentence per network that is not read or stored as it should be, at these tips. */
export type ReadProblems = (tips: Tips) => Promise<ReadonlyMap<NetworkName, string>>

/** `problems`: reports of the processes beside the tables. */
export function getHealth(
  market: Market,
  clock: () => Date,
  problems: ReadProblems = async () => new Map(),
): RequestHandler {
  return async function health(_req, res) {
    const networks = await market.status()
    if (networks.some((status) => status.network.devnet)) setDevnet(res)
    const now = Math.floor(clock().getTime() / 1000)
    const tips: Tips = new Map(networks.flatMap(({ network, tip }) => (tip ? [[network.name, tip] as const] : [])))
    const found = await orUnavailable(() => problems(tips))
    const answers = networks.map((it) => toNetwork(it, reasonOf(it, found.get(it.network.name)), now))
    const status = answers.some(({ reason }) => reason !== null) ? 'degraded' : 'ok'
    sendAnswer(res, { status, networks: answers }, false)
  }
}

function toNetwork({ network, tip, halts }: NetworkStatus, reason: string | null, now: number) {
  return {
    network: network.name,
    devnet: network.devnet,
    tip: tip === undefined ? null : { number: tip.number, hash: tip.hash, time: formatTime(tip.timestamp) },
    lag_seconds: tip === undefined ? null : lagSeconds(tip, now),
    // Operators get the reason from `npm run status` and the log.
    halted: halts.length === 0 ? null : haltedOf(halts),
    reason,
  }
}

function reasonOf({ tip, halts }: NetworkStatus, problem: string | undefined): string | null {
  const [halt] = halts
  if (halt) return `its ${halt.stage} has halted.`
  return problem ?? (tip === undefined ? 'nothing of it is stored yet.' : null)
}

function haltedOf(halts: NetworkStatus['halts']) {
  const since = Math.min(...halts.map((halt) => halt.since))
  return { stages: halts.map(({ stage }) => stage).sort(), since: formatTime(since) }
}
