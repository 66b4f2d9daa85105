/**
 * State that a devnet keeps over restarts and kills. `DEVNET_ROUNDS=20` is the long run:
 * `DEVNET_ROUNDS=20 npm test -- test/infra/devnet/devnet-restarts`.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hash, Hex } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DevnetFact } from '../../../infra/devnet/begin.ts'
import { type Rpc, rpcOver } from '../../../infra/devnet/chain/rpc.ts'
import { type Devnet, startDevnet } from '../../../infra/devnet/devnet.ts'
import { sample } from '../../support/sample.ts'

const ROUNDS = sample('DEVNET_ROUNDS', 2, 4)
const ROUND_MS = 30_000

let dataDir: string
let running: Devnet | undefined
let facts: DevnetFact[]

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'restarted-devnet-'))
  facts = []
})
afterEach(async () => {
  await running?.stop()
  running = undefined
  await rm(dataDir, { recursive: true, force: true })
})

async function start(): Promise<{ devnet: Devnet; rpc: Rpc }> {
  const report = (fact: DevnetFact) => facts.push(fact)
  const { signal } = new AbortController()
  running = await startDevnet({ dataDir, blockSeconds: 1, historyHours: 0.1, report, signal })
  return { devnet: running, rpc: rpcOver(running.httpUrl) }
}

async function stop(devnet: Devnet) {
  await devnet.stop()
  running = undefined
}

test(`${ROUNDS} restarts keep the chain`, { timeout: ROUNDS * ROUND_MS }, async () => {
  let chain: Block[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const { devnet, rpc } = await start()
    expect(facts.at(-1)).toMatchObject({ chain: round === 0 ? 'new' : 'continued' })
    const now = await chainOf(rpc)
    expect(now.slice(0, chain.length)).toEqual(chain)
    const length = now.length
    await expect.poll(async () => (await chainOf(rpc)).length).toBeGreaterThan(length)
    chain = await chainOf(rpc)
    await stop(devnet)
  }
  console.log(`${ROUNDS} restarts: ${chain.length} blocks, none replaced`)
})

test(`${ROUNDS} kills of the process at any moment keep the chain`, { timeout: ROUNDS * ROUND_MS }, async () => {
  const first = await start()
  let chain = await chainOf(first.rpc)
  await stop(first.devnet)
  const script = join(dataDir, 'owner.mts')
  const devnetFile = join(import.meta.dirname, '../../../infra/devnet/devnet.ts')
  await writeFile(
    script,
    `import { startDevnet } from ${JSON.stringify(devnetFile)}
     const options = { dataDir: ${JSON.stringify(dataDir)}, blockSeconds: 1, report: (fact) => console.log(fact.kind) }
     console.log('begins')
     await startDevnet({ ...options, signal: new AbortController().signal })
     console.log('is ready')`,
  )
  const moments: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const owner = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const lines: string[] = []
    const output = createInterface({ input: owner.stdout }).on('line', (line) => lines.push(line))
    await once(output, 'line')
    // A node that loads a state, one that dumps it, and one that mines: each is met by some of these.
    await sleep(Math.random() * 1_500)
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    moments.push(lines.at(-1) ?? '')
    expect(lines).not.toContain('devnet-state-unusable')
    // The start that follows at once is killed too in every other round.
    if (round % 2 === 0) continue
    const { devnet, rpc } = await start()
    expect(facts.at(-1)).toMatchObject({ chain: 'continued' })
    const now = await chainOf(rpc)
    expect(now.slice(0, chain.length)).toEqual(chain)
    chain = now
    await stop(devnet)
  }
  console.log(
    `${ROUNDS} kills of the process: ${chain.length} blocks, none replaced; killed after: ${moments.join(', ')}`,
  )
})

test(`each of ${ROUNDS} kills of the node begins a new chain`, { timeout: ROUNDS * ROUND_MS }, async () => {
  const seen = new Set<Hash>()
  for (let round = 0; round <= ROUNDS; round++) {
    facts = []
    const { devnet } = await start()
    expect(facts.at(-1)).toMatchObject({ kind: 'devnet-started', chain: 'new' })
    expect(facts.map(({ kind }) => kind).includes('devnet-state-unusable')).toBe(round > 0)
    seen.add(devnet.genesisHash)
    process.kill(devnet.pid, 'SIGKILL')
    expect(await devnet.exited).toMatchObject({ signal: 'SIGKILL', expected: false })
    await stop(devnet)
  }
  expect(seen.size).toBe(ROUNDS + 1)
  console.log(`${ROUNDS} kills of the node: ${seen.size} chains, each begun by itself`)
})

test('a second start on the folder is refused before it starts anything, and leaves the chain alone', async () => {
  const { devnet, rpc } = await start()
  const before = await chainOf(rpc)
  const second = startDevnet({ dataDir, report: () => undefined, signal: new AbortController().signal })
  await expect(second).rejects.toThrow(
    `the data folder ${dataDir} is in use by process ${process.pid}: stop that one, or set another DATA_DIR`,
  )
  await stop(devnet)
  const after = await start()
  expect(facts.at(-1)).toMatchObject({ chain: 'continued' })
  expect((await chainOf(after.rpc)).slice(0, before.length)).toEqual(before)
})

test('a start that fails for another reason than the state leaves the state to the next one', async () => {
  const { devnet } = await start()
  await stop(devnet)
  // No file can be written where a folder is: as if the disk were full.
  const load = join(dataDir, 'devnet', 'load.json')
  await rm(load, { force: true })
  await mkdir(load)
  await expect(start()).rejects.toThrow(/EISDIR/)
  await rm(load, { recursive: true })
  await start()
  expect(facts.map(({ kind }) => kind)).not.toContain('devnet-state-unusable')
  expect(facts.at(-1)).toMatchObject({ chain: 'continued' })
})

type Block = { number: Hex; hash: Hash }

async function chainOf(rpc: Rpc): Promise<Block[]> {
  const [tip] = (await rpc([{ method: 'eth_blockNumber', params: [] }])) as [Hex]
  const calls = Array.from({ length: Number(tip) + 1 }, (_, number) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${number.toString(16)}`, false],
  }))
  return ((await rpc(calls)) as Block[]).map(({ number, hash }) => ({ number, hash }))
}
