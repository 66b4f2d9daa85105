/** go-ethereum's index of logs while it grows: an answer for a range may lack a whole block then. */
import { type Address, type Hex, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import { readLogs, readRange } from '../../ingest/rpc/logs/log-range.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { deployMarkets, type TestMarkets } from '../support/anvil.ts'
import { findGeth } from '../support/geth.ts'
import { type GethChain, startGethChain } from '../support/geth-chain.ts'
import { inSoak } from '../support/sample.ts'

const GETH = await findGeth()

/** A call with n as its only word emits n logs, each of four topics. */
const EMITTER: Address = '0x00000000000000000000000000000000000000aa'
const EMITTER_CODE: Hex = '0x6000355b8015601d57600460036002600160006000a4600190036003565b00'
/** With a swap a block has some 1,000 values, and a map of the index 65,536. */
const LOGS_A_BLOCK = 200
const BLOCKS = 400
const RANGE_BLOCKS = 250

describe.skipIf(GETH === undefined)('go-ethereum’s index of logs', () => {
  let node: GethChain
  let markets: TestMarkets

  beforeAll(async () => {
    node = await startGethChain(GETH ?? '', [], { [EMITTER]: EMITTER_CODE })
    markets = await deployMarkets(node)
  })

  afterAll(() => node?.stop())

  test('ranges read while it grows past six maps lack no block', inSoak, async () => {
    const market = markets.market('v3 USDC/WETH 500')
    const [from] = node.chain.accounts
    const { number: before } = await node.block('latest')
    const stop = new AbortController()
    const { endpoints } = connectChain([node.wsUrl], { signal: stop.signal })
    const filter = { topics: [[V3_TOPICS.swap]], address: [market.id as Address] }
    let head = before
    const lacking = { told: 0, read: 0 }
    let ranges = 0

    async function readAgainAndAgain(): Promise<void> {
      while (head < before + BLOCKS) {
        const to = head
        const first = Math.max(before + 1, to - RANGE_BLOCKS)
        if (to < first) await node.block('latest')
        else {
          const [told, read] = await endpoints.run((client) =>
            Promise.all([readLogs(client, filter, first, to), readRange(client, filter, first, to)]),
          )
          ranges++
          const isWhole = ({ logs }: { logs: readonly RpcLog[] }) =>
            new Set(logs.map(({ blockNumber }) => blockNumber)).size === to - first + 1
          if (!isWhole(told)) lacking.told++
          if (!isWhole(read)) lacking.read++
        }
      }
    }

    const readers = Promise.all([readAgainAndAgain(), readAgainAndAgain()])
    for (let block = 0; block < BLOCKS; block++) {
      await markets.swap(market, { zeroForOne: block % 2 === 0, amount: block % 2 === 0 ? 10n ** 6n : 10n ** 15n })
      await node.chain.send([{ from, to: EMITTER, data: numberToHex(LOGS_A_BLOCK, { size: 32 }) }])
      await node.mine()
      head++
    }
    await readers
    stop.abort()
    console.log(
      `go-ethereum: ${lacking.told} of ${ranges} answers lacked a block, ${lacking.read} ranges as they are read`,
    )
    expect(lacking.read).toBe(0)
  })
})
