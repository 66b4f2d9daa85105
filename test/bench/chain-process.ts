/**
 * A JSON-RPC node over an endless made-up chain of 400 pools, in a process of its own, as quick as text can be joined.
 * Arguments: how long an answer takes in ms, the head, the swaps a block (0.02 are one every 50 blocks), the network, the seconds between the blocks
 * before the head, that one block of so many has so many times the swaps, and whether headers are `proven`: their fields have their hash. It prints
 * its address.
 *
 * An empty line on standard input makes a new head, of which WebSockets are told at once; a line on standard output has its number
 * and the moment in nanoseconds, by the clock that all processes of a machine share. A line with a number says how long an answer takes
 * from then on.
 */
import { createInterface } from 'node:readline'
import { type Hex, numberToHex } from 'viem'
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { randomOf } from '../simulation/random.ts'
import { aggregate3, functionOf, stringOf, wordOf } from '../support/fake-node.ts'
import { type Call, sendJson, serveTexts } from '../support/json-rpc.ts'
import { acceptWebSockets, type WebSocketPeer } from '../support/web-socket.ts'
import { madeUpHeaders, provenHeaders } from './chain-headers.ts'
import { CHAIN_POOLS, chainPool, poolOfSwap } from './chain-node.ts'

const [
  latency = '0',
  firstHead = '1000000',
  density = '3',
  name = 'ethereum',
  seconds = '12',
  every = '1',
  times = '1',
  headers = 'made-up',
] = process.argv.slice(2)
let latencyMs = Number(latency)
let head = Number(firstHead)
/** As on Ethereum, which its rollups follow. */
const FINALITY_SECONDS = 768
const SWAPS_PER_BLOCK = Math.ceil(Number(density))
/** Only these have swaps. */
const EVERY_BLOCKS = Math.max(1, Math.round(1 / Number(density)))
const SECONDS_A_BLOCK = Number(seconds)
const BURST = { every: Number(every), times: Number(times) }
const network = NETWORKS[networkName(name)]

function networkName(text: string): NetworkName {
  const found = NETWORK_NAMES.find((it) => it === text)
  if (!found) throw new Error(`${text} is no network.`)
  return found
}

/** A transaction's hash ends with its swap's number. */
const SWAP_DIGITS = 12
const word = (value: bigint) => BigInt.asUintN(256, value).toString(16).padStart(64, '0')
const tokenOf = (index: number) => `0x${((index % CHAIN_POOLS) + 1).toString().padStart(40, 'a')}` as const
/** Tokens carry their number as pools do. */
const indexIn = (text: string) => Number(/\d*$/.exec(text.slice(-6))?.[0]) - 1
const START = Math.floor(Date.now() / 1_000)
/** The first head is as old as this process; those that are made have the time of then. */
const minedAt = new Map<number, number>()
/** No block is of before 1970: the first ones of a made-up chain are later than its pace says. */
const timeOf = (block: number) =>
  minedAt.get(block) ?? Math.max(1, START - Math.round((Number(firstHead) - block) * SECONDS_A_BLOCK))

let final = head - Math.ceil(FINALITY_SECONDS / SECONDS_A_BLOCK)

function newestFinal(): number {
  while (final < head && timeOf(final + 1) <= Date.now() / 1_000 - FINALITY_SECONDS) final += 1
  return final
}

/** The start reads no block below by its parent. */
const FIRST_LINKED = final - 1_000
const { hashOf, numberIn, headerAt } =
  headers === 'proven' ? provenHeaders(timeOf, FIRST_LINKED) : madeUpHeaders(timeOf)

/** As random as those of real swaps, so that the tables compress as those of a real chain do: all within 10 % of one price. */
const random = randomOf(1)
const SWAPS = Array.from({ length: 16_384 }, () => {
  const [amount, fraction] = [random.bits(60) + 1n, random.bits(32)]
  const sqrtPrice = 20_000n * 2n ** 96n + random.bits(96) * 500n
  const words = [-amount, (amount * (24_000n * 2n ** 32n + fraction * 2_000n)) >> 32n, sqrtPrice, random.bits(90)]
  const tick = BigInt(198_000 + random.between(0, 500))
  return { data: `0x${[...words, tick].map(word).join('')}`, hash: random.bits(208).toString(16).padStart(52, '0') }
})

function logsOf(from: number, to: number): string {
  const logs: string[] = []
  for (let block = Math.ceil(from / EVERY_BLOCKS) * EVERY_BLOCKS; block <= to; block += EVERY_BLOCKS) {
    const place = `"blockNumber":"${numberToHex(block)}","blockHash":"${hashOf(block)}","blockTimestamp":"${numberToHex(timeOf(block))}"`
    const swaps = SWAPS_PER_BLOCK * (block % BURST.every === 0 ? BURST.times : 1)
    for (let index = 0; index < swaps; index++) {
      const swap = block * SWAPS_PER_BLOCK * BURST.times + index
      const topics = `"${V3_TOPICS.swap}","0x${word(1n)}","0x${word(2n)}"`
      const { data, hash } = SWAPS[swap % SWAPS.length] as (typeof SWAPS)[number]
      logs.push(
        `{"address":"${poolOfSwap(swap)}","topics":[${topics}],"data":"${data}",${place},"transactionHash":"0x${hash}${swap.toString(16).padStart(SWAP_DIGITS, '0')}","logIndex":"${numberToHex(index)}","removed":false}`,
      )
    }
  }
  return `[${logs.join(',')}]`
}

function headerOf(tag: string): string {
  const number = tag.startsWith('0x') ? Number(tag) : tag === 'finalized' ? newestFinal() : head
  if (number > head) return 'null'
  return JSON.stringify({ ...headerAt(number), transactions: [] })
}

function callOf(data: Hex): string {
  return JSON.stringify(aggregate3(data, read))
}

/** Every address is a token, a pool and a factory. */
function read(target: Hex, data: Hex): Hex | undefined {
  const index = indexIn(target)
  switch (functionOf(data)) {
    case 'symbol':
      return stringOf(`T${index}`)
    case 'name':
      return stringOf(`Token ${index}`)
    case 'decimals':
      return wordOf(18)
    case 'factory':
      return wordOf(network.v3.factory)
    case 'token0':
      return wordOf(tokenOf(index))
    case 'token1':
      return wordOf(network.wrappedNative)
    case 'fee':
      return wordOf(500)
    case 'balanceOf':
      return wordOf(10n ** 24n)
    case 'getPool':
      // The token names its pool.
      return wordOf(chainPool(indexIn(data.slice(0, 74))))
    default:
      return undefined
  }
}

function resultOf({ method, params }: Call): string {
  if (method === 'eth_chainId') return `"${numberToHex(network.chainId)}"`
  if (method === 'eth_subscribe') return SUBSCRIPTION
  if (method === 'eth_getBlockByNumber') return headerOf(params[0] as string)
  if (method === 'eth_call') return callOf((params[0] as { data: Hex }).data)
  if (method !== 'eth_getLogs') return 'null'
  const { fromBlock, toBlock, blockHash, address } = params[0] as Record<'fromBlock' | 'toBlock' | 'blockHash', Hex> & {
    address?: Hex[]
  }
  // A lookup of the reference pool, which this chain does not have.
  if (address) return '[]'
  if (blockHash) return logsOf(numberIn(blockHash), numberIn(blockHash))
  return logsOf(Number(fromBlock), Math.min(head, Number(toBlock)))
}

const SUBSCRIPTION = '"0x01"'
const watching = new Set<WebSocketPeer>()

/** Answers to what is asked at once come at once, each after the latency. */
function answerTo(text: string, reply: (text: string) => void): void {
  setTimeout(() => {
    const body = JSON.parse(text) as Call | Call[]
    const answer = (call: Call) => `{"jsonrpc":"2.0","id":${call.id},"result":${resultOf(call)}}`
    reply(Array.isArray(body) ? `[${body.map(answer).join(',')}]` : answer(body))
  }, latencyMs)
}

function mine(): void {
  head += 1
  minedAt.set(head, Math.floor(Date.now() / 1_000))
  const params = `{"subscription":${SUBSCRIPTION},"result":${headerOf('latest')}}`
  console.log(`${head} ${process.hrtime.bigint()}`)
  for (const peer of watching) peer.send(`{"jsonrpc":"2.0","method":"eth_subscription","params":${params}}`)
}

const { server, url } = await serveTexts((body, response) => answerTo(body, (text) => sendJson(response, text)))
acceptWebSockets(
  server,
  (peer, text) => {
    if (text.includes('eth_subscribe')) watching.add(peer)
    answerTo(text, (answer) => peer.send(answer))
  },
  (peer) => watching.delete(peer),
)
// A bench may pause for longer than the five seconds after which connections are closed.
server.keepAliveTimeout = 600_000
console.log(url)
createInterface(process.stdin)
  .on('line', (line) => {
    if (line === '') mine()
    else latencyMs = Number(line)
  })
  .on('close', () => process.exit())
