import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { countProven, encodeReceipt, rootOf } from '../../../ingest/proof/receipts-root.ts'
import { randomOf } from '../../simulation/random.ts'
import { realBlocks } from '../../support/proof-blocks.ts'
import { FORGERIES } from './forge.ts'

const blocks = realBlocks()
const rootIn = ({ header }: (typeof blocks)[number]) => header['receiptsRoot'] as Hex

describe("the receipts' root", () => {
  it.each(blocks)('is computed from the receipts of $name', async (block) => {
    expect(await countProven(block.receipts, rootIn(block))).toBe(block.receipts.length)
  })

  it.each(blocks)('is that of all receipts but one that $name has beside it', async (block) => {
    const { receipts } = block
    const stateSync = { type: '0x0', status: '0x1', cumulativeGasUsed: '0x0', logs: [] }
    expect(await countProven([...receipts, stateSync], rootIn(block))).toBe(receipts.length)
  })

  it('is that of no receipts where the block has none', async () => {
    expect(await countProven([], '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')).toBe(0)
  })

  it.each(Object.keys(FORGERIES))('is another one with %s', async (name) => {
    const random = randomOf(43)
    for (const block of blocks) {
      const forged = FORGERIES[name]?.(block.receipts, random) ?? []
      expect(await countProven(forged, rootIn(block))).toBeUndefined()
    }
  })

  it('is another one for each of 5,000 forged lists of receipts', async () => {
    const random = randomOf(44)
    const kinds = Object.values(FORGERIES)
    const [block] = blocks.toReversed()
    if (!block) throw new Error('There is a block.')
    for (let count = 0; count < 5_000; count++) {
      const forged = kinds[count % kinds.length]?.(block.receipts, random) ?? []
      expect(await countProven(forged, rootIn(block))).toBeUndefined()
    }
  })

  it('has the nonce of a deposit since its receipts have a version', async () => {
    const deposit = { type: '0x7e', status: '0x1', cumulativeGasUsed: '0xb2fd', logs: [], depositNonce: '0x1' }
    const before = await rootOf([encodeReceipt(deposit) as Hex])
    const since = await rootOf([encodeReceipt({ ...deposit, depositReceiptVersion: '0x1' }) as Hex])
    expect(await rootOf([encodeReceipt({ ...deposit, depositNonce: undefined }) as Hex])).toBe(before)
    expect(since).not.toBe(before)
  })
})
