/** Balances after one block of one branch: by its hash, or else by its number beside its header. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { BalanceReader } from '../../../ingest/pools/balances.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { getHeader, type Header } from '../../../ingest/rpc/rpc.ts'
import { DAY, madeUpHash } from '../../support/recorded.ts'
import { recordedDayChain } from '../../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../../support/rpc-server.ts'
import { addressOf, poolOf } from '../../support/store.ts'
import { FAST_RETRIES } from '../over-nodes.ts'

const [ONE, OTHER] = ['01', '02'].map((digits) => addressOf(digits)) as [`0x${string}`, `0x${string}`]
const tokens = [ONE, OTHER].map((address) => ({ address, symbol: 'T', name: 'Token', decimals: 18 }))
const POOL = poolOf(addressOf('a1'), tokens[0] as never, tokens[1] as never)
const BLOCK = DAY.lastBlock - 3

let node: RpcServer
let endpoints: Endpoints
let block: Header
let reader: BalanceReader
const stopping = new AbortController()

beforeEach(async () => {
  const token = { kind: 'token', symbol: 'T', name: 'Token', decimals: 18 } as const
  const contracts = { [ONE]: { ...token, balanceOf: () => 7n }, [OTHER]: { ...token, balanceOf: () => 9n } }
  node = await startRpcServer({ ...recordedDayChain(), contracts })
  const options = { network: NETWORKS.ethereum, signal: stopping.signal, retryPolicy: FAST_RETRIES }
  endpoints = connectChain([node.url], { headerProof: 'off', ...options }).endpoints
  block = (await endpoints.run((client) => getHeader(client, BLOCK))) as Header
  reader = new BalanceReader(endpoints)
  reader.touch(POOL)
})

afterEach(() => node.stop())

const headers = () => node.calls['eth_getBlockByNumber'] ?? 0
const calls = () => node.calls['eth_call'] ?? 0
const balances = [{ pool: POOL.id, balance0: 7n, balance1: 9n }]

test('balances need one request where the node reads by the hash of a block', async () => {
  const before = headers()
  expect(await reader.read(block)).toEqual(balances)
  expect([headers() - before, calls()]).toEqual([0, 1])
})

test('balances are read by number beside the header where the node refuses a hash, which is tried once', async () => {
  node.faults.refuseBlockHash = true
  const before = headers()
  expect(await reader.read(block)).toEqual(balances)
  expect([headers() - before, calls()]).toEqual([1, 2])
  reader.touch(POOL)
  const next = (await endpoints.run((client) => getHeader(client, BLOCK + 1))) as Header
  expect(await reader.read(next)).toEqual(balances)
  expect([headers() - before, calls()]).toEqual([3, 3])
})

test('balances of a node on another branch are not taken, by hash or by number', async () => {
  const elsewhere = { ...block, hash: madeUpHash(BLOCK, 7) }
  await expect(reader.read(elsewhere)).rejects.toThrow('header for hash not found')
  node.faults.refuseBlockHash = true
  reader = new BalanceReader(endpoints)
  reader.touch(POOL)
  await expect(reader.read(elsewhere)).rejects.toThrow('in the place of block')
  expect(await reader.read(block)).toEqual(balances)
})
