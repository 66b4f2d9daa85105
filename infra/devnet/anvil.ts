/** Anvil, an Ethereum node for development, as a child process on a port of its own. */
import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Hex } from 'viem'
import { type Child, type Exit, startChild } from '../child.ts'
import { type Rpc, rpcOver } from './rpc.ts'

export const DEVNET_CHAIN_ID = 31337

export type AnvilOptions = {
  /** Of the genesis block; makes no difference where a state is loaded. */
  genesisSeconds?: number
  /** A file that anvil wrote, to go on from. */
  loadState?: string
  /** Where it writes its state when it is stopped, or when we are killed. */
  dumpState?: string
  /** `finalized` is two epochs behind the head. */
  slotsInAnEpoch?: number
  /** Blocks whose state can be asked for; older ones have their headers, transactions and logs only. */
  keptStates?: number
  /** Mined blocks that keep their transactions and logs; older ones answer as if they had been empty, under the same hash. */
  keptBlocks?: number
  signal?: AbortSignal
}

export type Anvil = {
  httpUrl: string
  wsUrl: string
  pid: number
  rpc: Rpc
  /** Funded and unlocked: `eth_sendTransaction` signs for them. */
  accounts: readonly Hex[]
  /** Ends it; what is not dumped is gone. */
  stop(): Promise<void>
  exited: Promise<Exit>
}

const GAS_LIMIT = 1_000_000_000
const START_MS = 20_000
/** Writing a day's state takes about two seconds; to lose the chain would be worse than to wait. */
const GRACE_MS = 8_000

/** Resolves when it answers. Mines only when told to. Nobody pays for gas. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  let listening = (_port: number): void => undefined
  const port = new Promise<number>((resolve) => {
    listening = resolve
  })
  const child = startChild({
    command: anvilBinary(),
    args: argumentsOf(options),
    stopSignal: options.dumpState === undefined ? 'SIGKILL' : 'SIGTERM',
    graceMs: GRACE_MS,
    onLine(line) {
      const match = /^Listening on 127\.0\.0\.1:(\d+)/.exec(line)
      if (match) listening(Number(match[1]))
    },
  })
  const httpPort = await portOrEnd(child, port, options.signal)
  const httpUrl = `http://127.0.0.1:${httpPort}`
  const rpc = rpcOver(httpUrl)
  const [accounts] = await rpc([
    { method: 'eth_accounts', params: [] },
    // It would print a line for every call.
    { method: 'anvil_setLoggingEnabled', params: [false] },
  ])
  const { pid, exited } = child
  return {
    httpUrl,
    wsUrl: `ws://127.0.0.1:${httpPort}`,
    pid,
    rpc,
    accounts: accounts as Hex[],
    stop: child.stop,
    exited,
  }
}

function argumentsOf({
  genesisSeconds,
  loadState,
  dumpState,
  slotsInAnEpoch,
  keptStates,
  keptBlocks,
}: AnvilOptions): string[] {
  return [
    ...['--host', '127.0.0.1', '--port', '0', '--chain-id', String(DEVNET_CHAIN_ID)],
    // Nobody pays for gas and blocks are as large as needed, but transactions keep the order in which they were sent.
    ...['--no-mining', '--order', 'fifo', '--base-fee', '0', '--gas-price', '0', '--disable-min-priority-fee'],
    // The genesis block holds nothing but its time and this limit: chance keeps two chains of one second apart.
    ...['--gas-limit', String(GAS_LIMIT + randomInt(GAS_LIMIT)), '--no-request-size-limit'],
    // The last fork that needs no slot of state for every block: later ones make each block slower than the one before.
    ...['--hardfork', 'cancun'],
    ...(genesisSeconds === undefined ? [] : ['--timestamp', String(genesisSeconds)]),
    ...(loadState === undefined ? [] : ['--load-state', loadState]),
    ...(dumpState === undefined ? [] : ['--dump-state', dumpState]),
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

async function portOrEnd(child: Child, port: Promise<number>, signal: AbortSignal | undefined): Promise<number> {
  const timeout = AbortSignal.timeout(START_MS)
  const given = AbortSignal.any([timeout, ...(signal ? [signal] : [])])
  const ended = child.exited.then((exit) => {
    throw new Error(`anvil ended while starting: code ${exit.code}, last lines: ${exit.lastLines.join(' | ')}`)
  })
  const stopped = new Promise<never>((_, reject) => {
    if (given.aborted) reject(given.reason)
    given.addEventListener('abort', () => reject(given.reason), { once: true })
  })
  stopped.catch(() => undefined)
  ended.catch(() => undefined)
  try {
    return await Promise.race([port, ended, stopped])
  } catch (error) {
    await child.stop()
    throw error
  }
}
