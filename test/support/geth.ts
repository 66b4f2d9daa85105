/** go-ethereum as a node of its own: a chain of id 1 since the merge, whose blocks its Engine API takes from the test. */
import { execFile } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Hash, Hex } from 'viem'
import { type Rpc, rpcOver } from '../../infra/devnet/chain/rpc.ts'
import { type Child, startChild } from '../../infra/lib/child.ts'
import { pieces } from '../../ingest/lib/pieces.ts'
import { freePorts } from './free-ports.ts'

const run = promisify(execFile)

export const GETH_VERSION = '1.17.10'
const START_MS = 300_000
const STOP_MS = 10_000
const MAX_BATCH = 5

export type GenesisAccount = { balance?: Hex; code?: Hex }
export type GethGenesis = { timestamp: number; alloc: Readonly<Record<string, GenesisAccount>> }
/** A block as the node has built it and as the Engine API takes it. */
export type GethPayload = { blockHash: Hash; parentHash: Hash; blockNumber: Hex; timestamp: Hex; transactions: Hex[] }
type Envelope = { executionPayload: GethPayload }

export type Geth = {
  httpUrl: string
  wsUrl: string
  rpc: Rpc
  /** Builds a block of these transactions on the head, without taking it. */
  build(timestamp: number, transactions: readonly Hex[]): Promise<GethPayload>
  /** Hands it in, on a parent that the node has. */
  hand(payload: GethPayload): Promise<void>
  /** The same, and makes it the head, with `finalized` below it. */
  take(payload: GethPayload, finalized: Hash): Promise<void>
  /** Kills it, and starts it again on the same ports with the same data. */
  restart(flags?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** `GETH`, the cache that CI fills, or the PATH; undefined where there is none. */
export async function findGeth(): Promise<string | undefined> {
  const cached = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'candlepool', `geth-${GETH_VERSION}`)
  const places = [process.env['GETH'], join(cached, 'geth')].filter((place) => place !== undefined && existsSync(place))
  for (const place of [...places, 'geth']) {
    if (place === undefined) continue
    const version = await run(place, ['version']).catch(() => undefined)
    if (version) return place
  }
  return undefined
}

/** `flags` beside those that each start has. */
export async function startGeth(command: string, genesis: GethGenesis, flags: readonly string[] = []): Promise<Geth> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-geth-'))
  const data = join(folder, 'data')
  const secret = randomBytes(32)
  await writeFile(join(folder, 'genesis.json'), JSON.stringify(genesisOf(genesis)))
  await writeFile(join(folder, 'jwt.hex'), secret.toString('hex'))
  await run(command, ['init', '--datadir', data, ...SCHEME, join(folder, 'genesis.json')])
  const [http = 0, ws = 0, auth = 0] = await freePorts(3)
  const args = [
    ...[
      '--datadir',
      data,
      ...STATE,
      '--networkid',
      '1',
      '--nodiscover',
      '--maxpeers',
      '0',
      '--nat',
      'none',
      '--syncmode',
      'full',
    ],
    ...['--http', '--http.port', String(http), '--http.api', 'eth,net,web3,debug,testing'],
    ...['--ws', '--ws.port', String(ws), '--ws.api', 'eth,net,web3'],
    ...['--authrpc.port', String(auth), '--authrpc.jwtsecret', join(folder, 'jwt.hex'), '--ipcdisable', '--port', '0'],
    ...['--rpc.txfeecap', '0', '--rpc.gascap', '0', '--miner.gaslimit', String(GAS_LIMIT), '--cache', '64'],
    ...['--verbosity', '2'],
  ]
  const httpUrl = `http://127.0.0.1:${http}`
  const inBatches = rpcOver(httpUrl)
  // The node may be told to refuse longer ones.
  const rpc: Rpc = async (calls) => {
    const answers: unknown[] = []
    for (const some of pieces(calls, MAX_BATCH)) answers.push(...(await inBatches(some)))
    return answers
  }
  const engine = (method: string, params: readonly unknown[]) =>
    askAs(`http://127.0.0.1:${auth}`, tokenOf(secret), method, params)

  let child = await start(flags)
  async function start(more: readonly string[]): Promise<Child> {
    const started = startChild({ command, args: [...args, ...more], stopSignal: 'SIGTERM', graceMs: STOP_MS })
    const giveUp = Date.now() + START_MS
    const ended = started.exited.then((exit) => {
      throw new Error(`geth ended while it started: ${exit.lastLines.join(' | ')}`)
    })
    ended.catch(() => undefined)
    const answers = () => rpc([{ method: 'eth_chainId', params: [] }]).catch(() => undefined)
    while (!(await Promise.race([answers(), ended]))) {
      if (Date.now() > giveUp) throw new Error('geth does not answer.')
      await sleep(50)
    }
    return started
  }

  async function hand(payload: GethPayload): Promise<void> {
    const { status, validationError } = (await engine('engine_newPayloadV3', [payload, [], ZERO_HASH])) as Status
    if (status !== 'VALID') throw new Error(`geth calls the block ${status}: ${validationError}`)
  }

  return {
    httpUrl,
    wsUrl: `ws://127.0.0.1:${ws}`,
    rpc,
    async build(timestamp, transactions) {
      const [head] = (await rpc([{ method: 'eth_getBlockByNumber', params: ['latest', false] }])) as { hash: Hash }[]
      const attributes = {
        timestamp: `0x${timestamp.toString(16)}`,
        prevRandao: ZERO_HASH,
        suggestedFeeRecipient: `0x${'11'.repeat(20)}`,
        withdrawals: [],
        parentBeaconBlockRoot: ZERO_HASH,
      }
      const params = [head?.hash, attributes, transactions, '0x']
      const [built] = await rpc([{ method: 'testing_buildBlockV1', params }])
      return (built as Envelope).executionPayload
    },
    hand,
    async take(payload, finalized) {
      await hand(payload)
      const state = { headBlockHash: payload.blockHash, safeBlockHash: finalized, finalizedBlockHash: finalized }
      const { payloadStatus } = (await engine('engine_forkchoiceUpdatedV3', [state, null])) as { payloadStatus: Status }
      if (payloadStatus.status !== 'VALID') throw new Error(`geth calls the head ${payloadStatus.status}`)
    },
    async restart(again = flags) {
      process.kill(child.pid, 'SIGKILL')
      await child.exited
      child = await start(again)
    },
    async stop() {
      await child.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Status = { status: string; validationError?: string | null }

const ZERO_HASH: Hash = `0x${'00'.repeat(32)}`
const GAS_LIMIT = 1_000_000_000
/** Each state is kept and written with its block: contracts can be read at old blocks, also after a kill. */
const SCHEME = ['--state.scheme', 'hash'] as const
const STATE = [...SCHEME, '--gcmode', 'archive'] as const

/** Cancun is the last fork whose transactions may have as much gas as the devnet gives them. */
function genesisOf({ timestamp, alloc }: GethGenesis) {
  const forks = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul']
  const blocks = [...forks, 'berlin', 'london'].map((fork) => [`${fork}Block`, 0])
  return {
    config: {
      chainId: 1,
      ...Object.fromEntries(blocks),
      shanghaiTime: 0,
      cancunTime: 0,
      blobSchedule: { cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 } },
      terminalTotalDifficulty: 0,
    },
    difficulty: '0x0',
    gasLimit: `0x${GAS_LIMIT.toString(16)}`,
    baseFeePerGas: '0x1',
    timestamp: `0x${timestamp.toString(16)}`,
    alloc: Object.fromEntries(
      Object.entries(alloc).map(([address, { balance = '0x0', code }]) => [
        address,
        { balance, ...(code && { code }) },
      ]),
    ),
  }
}

/** A JSON web token of the Engine API: HS256 over the time of its issue. */
function tokenOf(secret: Buffer): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iat: Math.floor(Date.now() / 1_000) })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

async function askAs(url: string, token: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    result?: unknown
    error?: { message: string }
  }
  if (answer.error) throw new Error(`geth refused ${method}: ${answer.error.message}`)
  return answer.result
}
