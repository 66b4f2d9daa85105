/** The text that `npm start` prints: it is ready, or the networks that it does not read yet with the reason. */
import { readHalts } from '../../aggregator/ledger/halts.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { hostOf } from '../../ingest/lib/hosts-only.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Store } from '../clickhouse/store.ts'
import type { NetworkConfig } from '../config/config.ts'
import { printLine } from '../lib/output.ts'
import type { Run } from './run.ts'

const READ_POLL_MS = 500

type Note = { network: NetworkName; text: string }

/** Per network that is not read, the reason. */
export async function notesOf(
  networks: readonly NetworkConfig[],
  unanswered: ReadonlySet<NetworkName>,
  store: Store,
  run: Run,
): Promise<Note[]> {
  const names = networks.map(({ network }) => network.name)
  const halts = await readHalts(store.owner, names).catch(() => [])
  const view = { now: Date.now() / 1_000, maxTipAgeSeconds: run.config.readyTipSeconds, tips: new Map() }
  const reasons = run.readiness.reasons(view)
  const notes: Note[] = []
  for (const { network, urls } of networks) {
    const { name } = network
    const halt = halts.find((it) => it.network === name)
    const hosts = [...new Set(urls.map(hostOf))].join(', ')
    const reason = reasons.find((it) => it.startsWith(`${name}: `))?.slice(name.length + 2)
    if (halt) notes.push({ network: name, text: `its ${halt.stage} has halted: ${halt.reason}` })
    else if (unanswered.has(name))
      notes.push({ network: name, text: `no endpoint answers (${hosts}). It is asked again until one does.` })
    else if (!(await isRead(name, store, run)))
      notes.push({ network: name, text: reason ?? 'none of its blocks is read yet.' })
  }
  return notes
}

/** Whether its listener appends blocks, or is at the head, and a block of it is stored. */
async function isRead(network: NetworkName, store: Store, { readiness }: Run): Promise<boolean> {
  return (
    readiness.isReading(network) &&
    (await storedChain(store.owner, network)
      .tip()
      .catch(() => undefined)) !== undefined
  )
}

/** Prints that all networks are read, once they are. */
export async function untilRead(networks: readonly NetworkConfig[], store: Store, run: Run): Promise<void> {
  for (const { network } of networks) {
    while (!run.signal.aborted && !(await isRead(network.name, store, run))) await pause(READ_POLL_MS, run.signal)
  }
  if (!run.signal.aborted) printLine(readyLine(networks))
}

function namesOf(networks: readonly NetworkConfig[]): string {
  return networks.map(({ network }) => network.name).join(', ')
}

function readyLine(networks: readonly NetworkConfig[]): string {
  const names = namesOf(networks)
  const isDevnet = networks.some(({ network }) => network.devnet)
  const what = isDevnet ? `a local DEVNET that stands in for ${names}: real Uniswap contracts, made-up trades` : names
  return `Candlepool is ready. It reads ${what}.`
}

/** Prints the key on standard output, never in the log. The link holds a one-time code instead, since browsers keep addresses. */
export function announce(
  networks: readonly NetworkConfig[],
  { host, port }: { host: string; port: number },
  { key, code, notes }: { key: string; code: string; notes: readonly Note[] },
): void {
  const ofPublic = namesOf(networks.filter(({ isPublic }) => isPublic))
  const shownHost = host.includes(':') ? `[${host}]` : host
  const base = `http://${shownHost}:${port}`
  const advice = `  Public endpoints, shared and slow, serve ${ofPublic}: set ${ofPublic.split(', ')[0]?.toUpperCase()}_RPC_URL to your own.`
  printLine(
    [
      '',
      ...(notes.length === 0
        ? [readyLine(networks)]
        : [
            `Candlepool runs, but it does not read ${notes.map(({ network }) => network).join(', ')} yet. What is stored is answered.`,
            ...notes.map(({ network, text }) => `  ${network}: ${text}`),
          ]),
      ...(ofPublic === '' ? [] : [advice]),
      '',
      `  Page  ${base}/#code=${code}`,
      `  API   ${base}/v0`,
      `  Key   ${key}`,
      '',
      `  curl -s -H 'X-API-KEY: ${key}' '${base}/v0/candles?symbol=WETH-USDC&interval=1m&limit=3'`,
      '',
    ].join('\n'),
  )
}
