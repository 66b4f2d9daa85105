/** A node of the tests answers as real ones do: headers hash to their hashes, and receipts have the root. */
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rpc } from '../../../infra/devnet/rpc.ts'
import { headerVerdict } from '../../../ingest/proof/header-hash.ts'
import { countProven, type RawReceipt } from '../../../ingest/proof/receipts-root.ts'
import { deployMarkets, startAnvil, type TestAnvil } from '../../support/anvil.ts'

type Block = Record<string, unknown> & { receiptsRoot: Hex }

async function verdictsOf(rpc: Rpc) {
  const [head] = await rpc([{ method: 'eth_blockNumber', params: [] }])
  const verdicts: Record<string, number> = {}
  let receipts = 0
  for (let number = 0; number <= Number(head); number++) {
    const tag = `0x${number.toString(16)}`
    const [block, told] = await rpc([
      { method: 'eth_getBlockByNumber', params: [tag, false] },
      { method: 'eth_getBlockReceipts', params: [tag] },
    ])
    const list = told as RawReceipt[]
    const count = await countProven(list, (block as Block).receiptsRoot)
    const verdict = `${headerVerdict(block as Block)}, ${count === list.length ? 'all' : 'not all'} receipts`
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1
    receipts += list.length
  }
  return { verdicts, blocks: Number(head) + 1, receipts }
}

describe('a chain of anvil with the contracts of Uniswap', () => {
  let anvil: TestAnvil

  beforeAll(async () => {
    anvil = await startAnvil()
    await deployMarkets(anvil)
    await anvil.mine(20)
  })

  afterAll(() => anvil?.stop())

  it('is proven block by block', async () => {
    const { verdicts, blocks, receipts } = await verdictsOf(anvil.rpc)
    expect(verdicts).toEqual({ 'proven, all receipts': blocks })
    expect(receipts).toBeGreaterThan(20)
  })
})
