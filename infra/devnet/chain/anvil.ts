/** Anvil, an Ethereum node for development, as a child process on a port of its own. */

import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import type { Hex } from 'viem'
import { onAbort } from '../../../ingest/lib/wait.ts'
import { type Child, type Exit, startChild } from '../../lib/child.ts'
import { type Rpc, rpcOver } from './rpc.ts'

export const DEVNET_CHAIN_ID = 31337

export type AnvilOptions = {
  /** Time of the genesis block. With a state, time and gas limit must equal those of its genesis, else the node adds a second block 0. */
  genesisSeconds?: number
  /** Random by default. */
  gasLimit?: number
  /** A file that anvil wrote to continue. */
  loadState?: string
  /** Where it writes its state when it is stopped, or when this process is killed. */
  dumpState?: string
  /** `finalized` is two epochs behind the head. */
  slotsInAnEpoch?: number
  /** Blocks whose state can be asked for; older ones have their headers, transactions and logs only. */
  keptStates?: number
  /** Mined blocks that keep their transactions and logs; older ones answer as if they had been empty, under the same hash. */
  keptBlocks?: number
  /** Called with its process id before it does anything. */
  onSpawn?: (pid: number) => void
  signal?: AbortSignal
}

export type Anvil = {
  httpUrl: string
  wsUrl: string
  pid: number
  rpc: Rpc
  /** Funded and unlocked: `eth_sendTransaction` signs for them. */
  accounts: readonly Hex[]
  /** Ends it; state that is not dumped is lost. */
  stop(): Promise<void>
  exited: Promise<Exit>
}

const GAS_LIMIT = 1_000_000_000
const START_MS = 20_000
/** A day's state takes seconds; on a busy machine a start that is given up would only begin again. */
const LOAD_MS = 300_000
/** By default anvil dumps every minute: a dump that is not its last would be an older chain. */
const NEVER_SECONDS = 2 ** 32 - 1
/** Writing a day's state takes about two seconds; to lose the chain would be worse than to wait. */
const GRACE_MS = 8_000

/** Resolves when it answers. Mines on request only; gas is free. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  let listening = (_address: string): void => undefined
  const address = new Promise<string>((resolve) => {
    listening = resolve
  })
  const host = await randomLoopbackHost()
  const child = startChild({
    command: anvilBinary(),
    args: argumentsOf(options, host),
    stopSignal: options.dumpState === undefined ? 'SIGKILL' : 'SIGTERM',
    graceMs: GRACE_MS,
    onLine(line) {
      const [, shown] = /^Listening on ([\d.]+:\d+)$/.exec(line) ?? []
      if (shown) listening(shown)
    },
  })
  options.onSpawn?.(child.pid)
  const timeoutMs = options.loadState === undefined ? START_MS : LOAD_MS
  const authority = await listenAddress(child, address, timeoutMs, options.signal)
  const httpUrl = `http://${authority}`
  const rpc = rpcOver(httpUrl)
  const [accounts] = await rpc([
    { method: 'eth_accounts', params: [] },
    // It would print a line for every call.
    { method: 'anvil_setLoggingEnabled', params: [false] },
  ])
  const { pid, exited } = child
  return {
    httpUrl,
    wsUrl: `ws://${authority}`,
    pid,
    rpc,
    accounts: accounts as Hex[],
    stop: child.stop,
    exited,
  }
}

/**
 * Anvil answers a WebSocket of any origin, and has no secret: a web page in a browser of this machine could read the chain and drive it. A page
 * can try the ports of 127.0.0.1, but not the ports of 16 million addresses. macOS has only 127.0.0.1.
 */
async function randomLoopbackHost(): Promise<string> {
  const host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
  return (await canListen(host)) ? host : '127.0.0.1'
}

function canListen(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(0, host, () => server.close(() => resolve(true)))
  })
}

function argumentsOf(options: AnvilOptions, host: string): string[] {
  const { genesisSeconds, loadState, dumpState, slotsInAnEpoch, keptStates, keptBlocks } = options
  const { gasLimit = GAS_LIMIT + randomInt(GAS_LIMIT) } = options
  return [
    // Without CORS, no page can read an answer over HTTP.
    ...['--host', host, '--no-cors', '--port', '0', '--chain-id', String(DEVNET_CHAIN_ID)],
    // Gas is free and blocks are as large as needed; transactions keep the order in which they were sent.
    ...['--no-mining', '--order', 'fifo', '--base-fee', '0', '--gas-price', '0', '--disable-min-priority-fee'],
    // The genesis block holds nothing but its time and this limit: chance keeps two chains of one second apart.
    ...['--gas-limit', String(gasLimit), '--no-request-size-limit'],
    // The last fork that needs no slot of state for every block: later ones make each block slower than the one before.
    ...['--hardfork', 'cancun'],
    ...(genesisSeconds === undefined ? [] : ['--timestamp', String(genesisSeconds)]),
    ...(loadState === undefined ? [] : ['--load-state', loadState]),
    ...(dumpState === undefined ? [] : ['--dump-state', dumpState, '--state-interval', String(NEVER_SECONDS)]),
    ...(slotsInAnEpoch === undefined ? [] : ['--slots-in-an-epoch', String(slotsInAnEpoch)]),
    ...(keptStates === undefined ? [] : ['--prune-history', String(keptStates)]),
    ...(keptBlocks === undefined ? [] : ['--transaction-block-keeper', String(keptBlocks)]),
  ]
}

/** Anvil's npm package is a small wrapper whose install script picks one of these; we ask for it directly. */
export function anvilBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}`
  try {
    const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
    return createRequire(wrapper).resolve(`${name}/bin/anvil`)
  } catch (cause) {
    const advice = 'install the optional dependencies, or name an RPC endpoint to do without a devnet'
    throw new Error(`the devnet needs the npm package ${name}, which is not installed: ${advice}`, { cause })
  }
}

async function listenAddress(
  child: Child,
  address: Promise<string>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<string> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const given = AbortSignal.any([timeout, ...(signal ? [signal] : [])])
  const ended = child.exited.then((exit) => {
    throw new AnvilEnded(exit)
  })
  const stopped = new Promise<never>((_, reject) => {
    onAbort(given, () => reject(given.reason))
  })
  stopped.catch(() => undefined)
  ended.catch(() => undefined)
  try {
    return await Promise.race([address, ended, stopped])
  } catch (error) {
    await child.stop()
    throw error
  }
}

export class AnvilEnded extends Error {
  override readonly name = 'AnvilEnded'
  readonly exit: Exit

  constructor(exit: Exit) {
    super(`anvil ended while starting: ${describeExit(exit)}`)
    this.exit = exit
  }
}

/** How it ended, and the last that it printed. */
export function describeExit({ code, signal, lastLines }: Exit): string {
  const how = signal ?? `code ${code}`
  const said = lastLines.filter((line) => line.trim() !== '').slice(-3)
  return said.length === 0 ? how : `${how}, last lines: ${said.join(' | ')}`
}
