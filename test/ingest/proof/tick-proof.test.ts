/** Proofs of single ticks from real blocks, checked by the service's checker and by the one in Python of the documentation. */
import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hash, type Hex, hexToNumber, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkProof } from '../../../infra/lib/check-proof.ts'
import { NoProof, proofIn, type TickProof } from '../../../ingest/audit/tick-proof.ts'
import { V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import { swapWords } from '../../../ingest/decode/swap-words.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { randomOf } from '../../simulation/random.ts'
import { type ProofBlock, realBlocks } from '../../support/proof-blocks.ts'

const CHAIN_IDS = { ethereum: 1, polygon: 137, arbitrum: 42_161 } as const

/** The fixture with the places that a node answers: one transaction a receipt, log indexes through the block. */
function readingOf({ name, header: block, receipts }: ProofBlock) {
  let logIndex = 0
  const placed = receipts.map((receipt, index) => {
    const transactionHash = numberToHex(index + 1, { size: 32 })
    const logs = receipt.logs.map((log): RpcLog => {
      const place = { blockNumber: block['number'] as Hex, blockHash: block['hash'] as Hash }
      return { ...log, ...place, transactionHash, logIndex: numberToHex(logIndex++) }
    })
    return { ...receipt, logs }
  })
  const header = { number: Number(block['number']), hash: block['hash'] as Hash }
  const network = name.split('-')[0] as keyof typeof CHAIN_IDS
  const timed = { ...header, parentHash: block['parentHash'] as Hash, timestamp: Number(block['timestamp']) }
  return {
    network: { name: network, chainId: CHAIN_IDS[network] },
    reading: { block, header: timed, receipts: placed, count: receipts.length },
    swaps: placed.flatMap(({ logs }) => logs.filter(isSwap)),
  }
}

function isSwap({ topics: [topic] }: RpcLog): boolean {
  return topic === V3_TOPICS.swap || topic === V4_TOPICS.swap
}

const idOf = ({ transactionHash, logIndex }: RpcLog) => ({
  transaction: transactionHash,
  logIndex: hexToNumber(logIndex),
})

const blocks = realBlocks().map(readingOf)
const proofs = blocks.flatMap(({ network, reading, swaps }) =>
  swaps.map(async (swap) => ({
    swap,
    time: reading.header.timestamp,
    proof: await proofIn(network, reading, idOf(swap)),
  })),
)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'candlepool-proof-'))
  const page = readFileSync(new URL('../../../infra/docs/proofs.md', import.meta.url), 'utf8')
  writeFileSync(join(folder, 'check_proof.py'), /```python\n(.*?)```/s.exec(page)?.[1] ?? '')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The output of the checker in Python. */
function checkInPython(text: string): unknown {
  writeFileSync(join(folder, 'tick.json'), text)
  const options: ExecFileSyncOptionsWithStringEncoding = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }
  return JSON.parse(execFileSync('python3', [join(folder, 'check_proof.py'), join(folder, 'tick.json')], options))
}

describe('the proof of a tick', () => {
  it('has what the log of each swap of real blocks says', async () => {
    const all = await Promise.all(proofs)
    expect(all.length).toBeGreaterThan(20)
    for (const { swap, time, proof } of all) {
      const { amount0, amount1, sqrtPriceX96, liquidity, poolTick } =
        swapWords(swap.data, swap.data.length > 2 + 5 * 64 ? 6 : 5) ?? {}
      expect(checkProof(JSON.stringify(proof))).toEqual({
        network: proof.network,
        tick: `${swap.transactionHash}-${Number(swap.logIndex)}`,
        block: Number(swap.blockNumber),
        hash: swap.blockHash,
        time,
        contract: swap.address,
        pool: swap.topics[0] === V4_TOPICS.swap ? swap.topics[1] : swap.address,
        ...{ amount0: `${amount0}`, amount1: `${amount1}`, sqrtPriceX96: `${sqrtPriceX96}`, liquidity: `${liquidity}` },
        poolTick: `${poolTick}`,
      })
    }
  })

  it('is checked alike by the checker in Python that the documentation has', async () => {
    const all = await Promise.all(proofs)
    for (const { proof } of all.filter((_, index) => index % 7 === 0)) {
      const text = JSON.stringify(proof)
      expect(checkInPython(text)).toEqual(checkProof(text))
    }
  })

  it('is refused with any digit of its header, receipt or path changed', async () => {
    const random = randomOf(45)
    const all = await Promise.all(proofs)
    for (let count = 0; count < 2_000; count++) {
      const proof = structuredClone(all[count % all.length]?.proof) as TickProof
      const path = [...proof.receipt.path]
      const at = count % (path.length + 2)
      const forge = (hex: Hex): Hex => {
        const place = 2 + random.between(0, hex.length - 3)
        const digit = (Number.parseInt(hex[place] ?? '', 16) + random.between(1, 15)) % 16
        return `${hex.slice(0, place)}${digit.toString(16)}${hex.slice(place + 1)}` as Hex
      }
      if (at < path.length) path[at] = forge(path[at] as Hex)
      if (at === path.length) proof.receipt.value = forge(proof.receipt.value)
      if (at === path.length + 1) proof.block.header = forge(proof.block.header)
      proof.receipt.path = path
      expect(() => checkProof(JSON.stringify(proof))).toThrow()
      if (count % 200 === 0) expect(() => checkInPython(JSON.stringify(proof))).toThrow()
    }
  })

  it.each<[string, (proof: TickProof) => void, RegExp]>([
    ['another number', ({ block }) => block.number++, /the header has another number/],
    ['another hash', ({ block }) => (block.hash = numberToHex(1, { size: 32 })), /does not hash/],
    ['the place of another receipt', ({ receipt }) => receipt.index++, /another receipt|not the one/],
    ['a path that ends early', ({ receipt }) => (receipt.path = receipt.path.slice(0, -1)), /another receipt/],
    ['a node twice', ({ receipt }) => (receipt.path = [receipt.path[0] as Hex, ...receipt.path]), /not the one/],
    ['the place of no log', (proof) => (proof.log = 9_999), /no swap/],
    ['the place of another log', (proof) => (proof.log = -1), /no swap/],
    ['no format', (proof) => Object.assign(proof, { format: 'other' }), /format/],
  ])('is refused with %s', async (_, change, reason) => {
    const [first] = await Promise.all(proofs)
    const proof = structuredClone(first?.proof) as TickProof
    change(proof)
    expect(() => checkProof(JSON.stringify(proof))).toThrow(reason)
    expect(() => checkInPython(JSON.stringify(proof))).toThrow()
  })

  it.each([
    '',
    '[]',
    'null',
    '{}',
    '{"format":"candlepool-proof-1"}',
    '{"format":"candlepool-proof-1","block":{"header":"0x"}}',
  ])('is no text such as %s', (text) => expect(() => checkProof(text)).toThrow())

  it('has a checker of less than 60 lines in each language', () => {
    const files = [join(folder, 'check_proof.py'), new URL('../../../infra/lib/check-proof.ts', import.meta.url)]
    for (const file of files) expect(readFileSync(file, 'utf8').trimEnd().split('\n').length).toBeLessThan(60)
  })

  it('is refused where the block has no such log', async () => {
    const { network, reading } = blocks[0] as (typeof blocks)[number]
    await expect(
      proofIn(network, reading, { transaction: numberToHex(1, { size: 32 }), logIndex: 99_999 }),
    ).rejects.toThrow(NoProof)
  })

  it('is refused for a log that is beside the root', async () => {
    const { network, reading, swaps } = blocks[0] as (typeof blocks)[number]
    const swap = swaps.at(-1) as RpcLog
    const count = reading.receipts.findIndex(({ logs }) => logs.includes(swap))
    await expect(proofIn(network, { ...reading, count }, idOf(swap))).rejects.toThrow(/is not under the receipts' root/)
  })
})
