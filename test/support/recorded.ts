/** The recorded chain data of test/fixtures, read into JSON-RPC logs. */
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { type Hash, type Hex, numberToHex } from 'viem'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'

const fixtures = new URL('../fixtures/', import.meta.url)

export const DAY_POOL = '0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640'
export const DAY = { firstBlock: 18_937_382, lastBlock: 18_944_480, start: 1_704_412_800, end: 1_704_499_200 }

export type RecordedLog = RpcLog & { blockTimestamp: Hex }

/** A hash for a block whose real one the recording does not name; another `fork` gives another one. */
export function madeUpHash(block: number, fork = 0): Hash {
  return `0x${fork.toString(16).padStart(8, '0')}${block.toString(16).padStart(56, '0')}`
}

/** Every log of the USDC/WETH 0.05 % pool on 2024-01-05, in chain order. */
export function recordedDay(): RecordedLog[] {
  return rowsOf('ethereum-2024-01-05/logs.csv.br').map((row) => {
    // block_number, block_timestamp, transaction_hash, transaction_index, log_index, "[topics]", data
    const [, block, time, transactionHash, , logIndex, topics, data] =
      /^(\d+),([^,]+),(0x\w+),(\d+),(\d+),"(.+)",(0x\w*)$/.exec(row) ?? fail(row)
    return {
      address: DAY_POOL,
      topics: JSON.parse((topics ?? '').replaceAll('""', '"')) as Hex[],
      data: data as Hex,
      blockNumber: numberToHex(Number(block)),
      blockHash: madeUpHash(Number(block)),
      transactionHash: transactionHash as Hash,
      logIndex: numberToHex(Number(logIndex)),
      blockTimestamp: numberToHex(Date.parse(`${time?.replace(' ', 'T')}Z`) / 1000),
    }
  })
}

export type MinuteBar = {
  timestamp: number
  openTick: number
  highestTick: number
  lowestTick: number
  closeTick: number
  netAmount0: bigint
  netAmount1: bigint
  inAmount0: bigint
  inAmount1: bigint
}

/** An independent data set of minute bars of the same logs: ticks are the pool's, amounts the pool's view. */
export function recordedMinutes(): MinuteBar[] {
  return rowsOf('ethereum-2024-01-05/minute.csv.br').map((row) => {
    const [time = '', net0, net1, close, open, lowest, highest, in0, in1] = row.split(',')
    return {
      timestamp: Date.parse(`${time.replace(' ', 'T')}Z`) / 1000,
      openTick: Number(open),
      highestTick: Number(highest),
      lowestTick: Number(lowest),
      closeTick: Number(close),
      netAmount0: BigInt(net0 ?? ''),
      netAmount1: BigInt(net1 ?? ''),
      inAmount0: BigInt(in0 ?? ''),
      inAmount1: BigInt(in1 ?? ''),
    }
  })
}

/** All Swap logs of Ethereum block 21925176: 13 of v3, 2 of v4. */
export function recordedBlock(): { block: { number: Hex; hash: Hash; timestamp: Hex }; logs: RpcLog[] } {
  return JSON.parse(readFileSync(new URL('ethereum-21925176/swaps.json', fixtures), 'utf8'))
}

function rowsOf(path: string): string[] {
  const text = brotliDecompressSync(readFileSync(new URL(path, fixtures))).toString('utf8')
  return text.trim().split('\n').slice(1)
}

function fail(row: string): never {
  throw new Error(`This is not a row of the recording: ${row}`)
}
