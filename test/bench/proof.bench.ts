/**
 * A block proven by its receipts, beside reading its swaps' logs alone, on one core: a real block of Ethereum with 202 receipts, 463 logs and 15
 * swaps. Both begin with the text of the answer. Best of the rounds.
 */
import { type Hex, numberToHex } from 'viem'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { headerVerdict } from '../../ingest/proof/header-hash.ts'
import { countProven, encodeReceipt, type RawReceipt, rootOf } from '../../ingest/proof/receipts-root.ts'
import { checkAnswer } from '../../ingest/rpc/answers.ts'
import { BLOCK_MS } from '../../ingest/rpc/retry-policy.ts'
import { realBlocks } from '../support/proof-blocks.ts'
import { costOf, figure, least, title } from './figure.ts'

const ROUNDS = 40
const SHARE = 0.02
/** The header from each of two voices, then the block and its receipts from one. */
const REQUESTS = 4
/** The header and the logs of each block, and finality now and then. */
const LIVE_REQUESTS = 3

const [block] = realBlocks()
if (!block) throw new Error('There is a block.')
const { header } = block
const blockHash = header['hash']
const receipts = block.receipts.map((receipt, index) => {
  const place = { blockHash, blockNumber: header['number'], transactionHash: numberToHex(index, { size: 32 }) }
  return {
    ...receipt,
    ...place,
    logs: receipt.logs.map((log, at) => ({ ...log, ...place, logIndex: numberToHex(at) })),
  }
})
const swaps = receipts.flatMap(({ logs }) => logs.filter(({ data }) => data.length >= 2 + 5 * 64))
const logsText = JSON.stringify(swaps)
const receiptsText = JSON.stringify(receipts)
const headerText = JSON.stringify(header)
const values = receipts.flatMap((receipt) => encodeReceipt(receipt) ?? [])

title(`a block of ${receipts.length} receipts, one core`)
const floor = await perBlock('its logs with the data of swaps: parsed and checked (floor)', readLogs)
await perBlock('its receipts: parsed and checked', readReceipts, floor)
await perBlock('hash of the header', () => headerVerdict(JSON.parse(headerText)), floor)
await perBlock('receipts encoded, blooms too', () => receipts.map(encodeReceipt), floor)
await perBlock("root of the receipts' trie", () => rootOf(values), floor)
const whole = await perBlock('proven: all of this', prove, floor)
figure('bytes of the receipts', receiptsText.length / 1_000, 'kB', logsText.length / 1_000)

title(`requests a day, of which ${SHARE * 100} % of the blocks are proven`)
for (const { name } of Object.values(NETWORKS)) {
  const blocks = 86_400_000 / BLOCK_MS[name]
  figure(`${name}: for proofs, beside those of live blocks`, blocks * SHARE * REQUESTS, 'a day', blocks * LIVE_REQUESTS)
}
const perDay = (86_400_000 / BLOCK_MS.arbitrum) * SHARE
figure('processor time of the proofs on arbitrum, were its blocks as full', (perDay * whole) / 1_000, 's a day')

function readLogs(): void {
  checkAnswer('eth_getLogs', JSON.parse(logsText))
}

function readReceipts(): RawReceipt[] {
  const answer = JSON.parse(receiptsText)
  checkAnswer('eth_getBlockReceipts', answer)
  return answer
}

async function prove(): Promise<void> {
  const count = await countProven(readReceipts(), header['receiptsRoot'] as Hex)
  if (count !== receipts.length || headerVerdict(JSON.parse(headerText)) !== 'proven') throw new Error('It is proven.')
}

async function perBlock(what: string, work: () => unknown, floorMs?: number): Promise<number> {
  const costs = []
  for (let round = 0; round < ROUNDS; round++) costs.push(await costOf(work))
  const ms = least(costs).seconds * 1_000
  figure(what, ms, 'ms', floorMs)
  return ms
}
