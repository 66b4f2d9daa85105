/** A node of the tests answers as real ones do: headers hash to their hashes, and receipts have the root. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rpc } from '../../../infra/devnet/chain/rpc.ts'
import { checkProof } from '../../../infra/lib/check-proof.ts'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import { headerVerdict } from '../../../ingest/proof/header-hash.ts'
import { countProven, type RawReceipt } from '../../../ingest/proof/receipts-root.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../../support/anvil.ts'
import { run } from '../../support/candlepool.ts'
import { startGateway } from '../../support/gateway.ts'

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
  let markets: TestMarkets

  beforeAll(async () => {
    anvil = await startAnvil()
    markets = await deployMarkets(anvil)
    await anvil.mine(20)
  })

  afterAll(() => anvil?.stop())

  it('has a proof for each swap, which `npm run prove` prints and checks', async () => {
    const market = markets.market('v4 USDC/WETH 3000')
    const mainnet = await startGateway(anvil.httpUrl, {
      call: ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined),
    })
    const transaction = await markets.swap(market, { zeroForOne: true, amount: 10n ** 9n })
    const [{ number, hash, timestamp }] = await anvil.mine()
    const [receipt] = await anvil.rpc([{ method: 'eth_getTransactionReceipt', params: [transaction] }])
    const swap = (receipt as { logs: RpcLog[] }).logs.find(({ topics }) => topics[0] === V4_TOPICS.swap)
    const tick = `${transaction}-${Number(swap?.logIndex)}`
    const environment = { ETHEREUM_RPC_URL: mainnet.url, HEADER_PROOF: 'required' }
    const prove = run('prove', environment, ['--network', 'ethereum', '--tick', tick])
    expect(await prove.exited, prove.output()).toBe(0)
    expect(checkProof(prove.output())).toMatchObject({ tick, block: number, hash, time: timestamp, pool: market.id })
    const file = join(await mkdtemp(join(tmpdir(), 'candlepool-proof-')), 'tick.json')
    await writeFile(file, prove.output())
    const check = run('prove', {}, ['--check', file])
    expect(await check.exited, check.output()).toBe(0)
    await writeFile(file, prove.output().replace(hash, `0x${'12'.repeat(32)}`))
    const refused = run('prove', {}, ['--check', file])
    expect(await refused.exited).toBe(1)
    expect(refused.output()).toBe('Not proven: the header does not hash to the hash of the block\n')
    await rm(dirname(file), { recursive: true })
    const other = run('prove', environment, ['--network', 'ethereum', '--tick', `${transaction}-9999`])
    expect(await other.exited).toBe(1)
    expect(other.output()).toContain(`Transaction ${transaction} has no log 9999 in block ${number}.`)
    await mainnet.stop()
  })

  it('is proven block by block', async () => {
    const { verdicts, blocks, receipts } = await verdictsOf(anvil.rpc)
    expect(verdicts).toEqual({ 'proven, all receipts': blocks })
    expect(receipts).toBeGreaterThan(20)
  })
})
