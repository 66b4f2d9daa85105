import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Hash, Hex } from 'viem'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import type { DevnetFact } from '../../../infra/devnet/begin.ts'
import { openChain } from '../../../infra/devnet/chain/chain.ts'
import { type Rpc, rpcOver } from '../../../infra/devnet/chain/rpc.ts'
import { deploymentOf } from '../../../infra/devnet/contracts/deploy.ts'
import { type Devnet, startDevnet } from '../../../infra/devnet/devnet.ts'
import { marketsOf } from '../../../infra/devnet/market/open-markets.ts'
import { MARKET_PLANS } from '../../../infra/devnet/market/plan.ts'
import { readSpotPrices } from '../../../infra/devnet/market/spot-price.ts'

const V3_SWAP: Hash = '0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67'
const V4_SWAP: Hash = '0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f'
const HISTORY_HOURS = 0.25
const HISTORY_BLOCKS = 75

let dataDir: string
let running: Devnet | undefined
let facts: DevnetFact[]

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'devnet-'))
  facts = []
})
afterEach(async () => {
  await running?.stop()
  running = undefined
  await rm(dataDir, { recursive: true, force: true })
})

async function start(): Promise<{ devnet: Devnet; rpc: Rpc }> {
  const report = (fact: DevnetFact) => facts.push(fact)
  running = await startDevnet({
    dataDir,
    blockSeconds: 1,
    historyHours: HISTORY_HOURS,
    report,
    signal: new AbortController().signal,
  })
  return { devnet: running, rpc: rpcOver(running.httpUrl) }
}

test('the history ends now, and live blocks carry the time on the wall', async () => {
  const { devnet, rpc } = await start()
  const history = await blocks(rpc, 4, HISTORY_BLOCKS)
  expect(history.at(-1)?.timestamp).toBeGreaterThan(Date.now() / 1_000 - 30)
  expect(new Set(history.slice(1).map((block, index) => block.timestamp - (history[index]?.timestamp ?? 0)))).toEqual(
    new Set([12]),
  )
  const swaps = await swapsOf(rpc)
  expect(new Set(swaps.map(({ blockNumber }) => blockNumber)).size).toBeGreaterThan(HISTORY_BLOCKS * 0.8)
  expect(swaps.length).toBeGreaterThan(HISTORY_BLOCKS * 2)

  const tip = await latest(rpc)
  await expect.poll(async () => (await latest(rpc)).number).toBeGreaterThanOrEqual(tip.number + 2)
  expect(Math.abs((await latest(rpc)).timestamp - Date.now() / 1_000)).toBeLessThan(2)
  expect(devnet.network).toMatchObject({ name: 'ethereum', chainId: 31337, devnet: true })
})

test('no transaction of the history fails', async () => {
  const { rpc } = await start()
  const numbers = Array.from({ length: HISTORY_BLOCKS }, (_, index) => hex(index + 1))
  const receipts = (await rpc(numbers.map((number) => ({ method: 'eth_getBlockReceipts', params: [number] })))) as {
    status: Hex
  }[][]
  expect(new Set(receipts.flat().map(({ status }) => status))).toEqual(new Set(['0x1']))
})

test('arbitrage keeps the pools of a pair within a percent', async () => {
  const { devnet, rpc } = await start()
  const { accounts } = await openChain({
    rpc,
    accounts: ((await rpc([{ method: 'eth_accounts', params: [] }])) as [Hex[]])[0],
  })
  const deployment = deploymentOf(accounts[0])
  const markets = marketsOf(MARKET_PLANS, deployment)
  const prices = await readSpotPrices(rpc, deployment, markets)
  const etherInUsdc = markets.flatMap(({ token0, token1 }, index) => {
    const pair = `${token0.symbol}/${token1.symbol}`
    const price = prices[index] ?? 0
    return pair === 'USDC/WETH' ? [1 / price] : pair === 'ETH/USDC' ? [price] : []
  })
  expect(etherInUsdc).toHaveLength(3)
  expect(Math.max(...etherInUsdc) / Math.min(...etherInUsdc)).toBeLessThan(1.01)
  expect(devnet.network.referencePools.map(({ pool }) => pool)).toEqual([markets[0]?.id])
})

test('the chain is the same after a restart: old blocks, logs and receipts answer, and it grows', async () => {
  const before = await start()
  const old = (await swapsOf(before.rpc))[5]
  if (!old) throw new Error('no swap in the history')
  const allBefore = await swapsOf(before.rpc)
  const stopAt = performance.now()
  await before.devnet.stop()
  expect(performance.now() - stopAt).toBeLessThan(3_000)

  const { devnet, rpc } = await start()
  expect(facts.at(-1)).toMatchObject({ kind: 'devnet-started', chain: 'continued' })
  expect(devnet.genesisHash).toBe(before.devnet.genesisHash)
  const [byHash, block, receipt, finalized] = (await rpc([
    { method: 'eth_getLogs', params: [{ blockHash: old.blockHash }] },
    { method: 'eth_getBlockByHash', params: [old.blockHash, true] },
    { method: 'eth_getTransactionReceipt', params: [old.transactionHash] },
    { method: 'eth_getBlockByNumber', params: ['finalized', false] },
  ])) as [Log[], { number: Hex }, { logs: Log[] }, { number: Hex }]
  expect(byHash).toContainEqual(old)
  expect(block.number).toBe(old.blockNumber)
  expect(receipt.logs).toContainEqual(old)
  expect(Number(finalized.number)).toBeGreaterThan(HISTORY_BLOCKS / 2)
  expect((await swapsOf(rpc)).slice(0, allBefore.length)).toEqual(allBefore)

  const tip = await latest(rpc)
  await expect.poll(async () => (await latest(rpc)).number).toBeGreaterThan(tip.number)
  expect(Math.abs((await latest(rpc)).timestamp - Date.now() / 1_000)).toBeLessThan(2)
})

test('a state file that can’t be read is reported, and a new chain is begun', async () => {
  const before = await start()
  await before.devnet.stop()
  await truncate(join(dataDir, 'devnet', 'dump.json'), 10_000)
  const { devnet } = await start()
  expect(facts.map(({ kind }) => kind)).toContain('devnet-state-unusable')
  expect(facts.at(-1)).toMatchObject({ kind: 'devnet-started', chain: 'new' })
  expect(devnet.genesisHash).not.toBe(before.devnet.genesisHash)
})

test('a start that is given up leaves no node and no state behind', async () => {
  const controller = new AbortController()
  const report = (fact: DevnetFact) => {
    facts.push(fact)
    if (fact.kind === 'devnet-history') controller.abort(new Error('enough'))
  }
  await expect(startDevnet({ dataDir, historyHours: 3, report, signal: controller.signal })).rejects.toThrow('enough')
  expect(nodesIn(dataDir)).toBe('')
  await start()
  expect(facts.map(({ kind }) => kind)).not.toContain('devnet-state-unusable')
  expect(facts.at(-1)).toMatchObject({ kind: 'devnet-started', chain: 'new' })
})

test('the node ends by itself where its owner is killed, and the chain grows after the next start', async () => {
  const script = join(dataDir, 'owner.mts')
  const devnetFile = join(import.meta.dirname, '../../../infra/devnet/devnet.ts')
  await writeFile(
    script,
    `import { startDevnet } from ${JSON.stringify(devnetFile)}
     const options = { dataDir: ${JSON.stringify(dataDir)}, historyHours: 0.1, report: () => undefined }
     const { genesisHash } = await startDevnet({ ...options, signal: new AbortController().signal })
     console.log(genesisHash)`,
  )
  const owner = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [genesisHash] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string]
  owner.kill('SIGKILL')
  const { devnet } = await start()
  expect(devnet.genesisHash).toBe(genesisHash)
})

afterAll(() => {
  expect(nodesIn(join(tmpdir(), 'devnet-'))).toBe('')
})

type Log = { blockHash: Hash; blockNumber: Hex; transactionHash: Hash; topics: Hex[] }

async function swapsOf(rpc: Rpc): Promise<Log[]> {
  const filter = { fromBlock: '0x0', toBlock: 'latest', topics: [[V3_SWAP, V4_SWAP]] }
  return ((await rpc([{ method: 'eth_getLogs', params: [filter] }])) as [Log[]])[0]
}

async function blocks(rpc: Rpc, from: number, count: number) {
  const calls = Array.from({ length: count }, (_, index) => ({
    method: 'eth_getBlockByNumber',
    params: [hex(from + index), false],
  }))
  return ((await rpc(calls)) as { number: Hex; timestamp: Hex }[]).map(({ number, timestamp }) => ({
    number: Number(number),
    timestamp: Number(timestamp),
  }))
}

async function latest(rpc: Rpc) {
  const [block] = (await rpc([{ method: 'eth_getBlockByNumber', params: ['latest', false] }])) as [
    { number: Hex; timestamp: Hex },
  ]
  return { number: Number(block.number), timestamp: Number(block.timestamp) }
}

/** The command lines of nodes that keep their state there. */
function nodesIn(folder: string): string {
  return execFileSync('sh', ['-c', `ps -eo args | grep '[a]nvil.*--dump-state ${folder}' || true`], {
    encoding: 'utf8',
  })
}

function hex(value: number): Hex {
  return `0x${value.toString(16)}`
}
