/** Checks of headers and blooms that need no file. */
import { bytesToHex, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { CryoFile } from '../../../infra/files/cryo-files.ts'
import { NO_PARENT, requireBlooms, requireChain } from '../../../infra/files/file-checks.ts'
import { bloomOf } from '../../../ingest/proof/bloom.ts'
import type { Header, RpcLog } from '../../../ingest/rpc/rpc.ts'

const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`
const headerOf = (number: number, fields: Partial<Header> = {}): Header => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 1_000 + number,
  ...fields,
})
const fileOf = (from: number, to: number): CryoFile => {
  const name = `ethereum__blocks__${from}_to_${to}.parquet`
  return { from, to, name, path: name, dataset: 'blocks', bytes: 1, changedMs: 1 }
}
const FILES = [fileOf(1, 2), fileOf(3, 9)]

describe('a chain of headers', () => {
  test('ends with the last one, and the next file continues it', () => {
    const last = requireChain(FILES, undefined, [headerOf(1), headerOf(2)])
    expect(last.number).toBe(2)
    expect(requireChain(FILES, last, [headerOf(3)]).number).toBe(3)
  })

  test('may have blocks of one second, and headers of files without parents', () => {
    const without = { parentHash: NO_PARENT, timestamp: 1_001 } as const
    expect(requireChain(FILES, undefined, [headerOf(1), headerOf(2, without)]).number).toBe(2)
  })

  test.each([
    ['a wrong parent', headerOf(3, { parentHash: hashOf(9) }), 'the parent of block 3 is not block 2 of the files.'],
    ['a time before its parent', headerOf(3, { timestamp: 1_001 }), 'block 3 has the time 1001, which no block'],
    ['a time that no table takes', headerOf(3, { timestamp: 2 ** 32 }), 'block 3 has the time 4294967296, which'],
  ])('is refused for %s, with the file of that header', (_, header, fault) => {
    const read = () => requireChain(FILES, headerOf(2), [header])
    expect(read).toThrow(`ethereum__blocks__3_to_9.parquet: ${fault}`)
  })
})

describe('the bloom of a header', () => {
  const [address, topic]: [Hex, Hex] = [`0x${'a7'.repeat(20)}`, `0x${'c4'.repeat(32)}`]
  const log = (fields: Partial<RpcLog>): RpcLog => ({
    address,
    topics: [topic],
    data: '0x',
    blockNumber: '0x3',
    blockHash: hashOf(3),
    transactionHash: hashOf(1),
    logIndex: '0x0',
    ...fields,
  })
  const bloom = bytesToHex(bloomOf([{ address, topics: [topic] }]))
  const check = (logsBloom: Hex | undefined, ...logs: RpcLog[]) => {
    const headers = [headerOf(3, logsBloom && { logsBloom })]
    const range = { from: 3, to: 3, logs, headers, last: headerOf(3) }
    requireBlooms({ file: 'logs', range, byBlock: new Map([[3, logs]]), headers, headerFiles: FILES })
  }
  const REFUSED = 'logs: block 3 has a log that is not in the bloom of its header.'

  test('has each log of its block', () => {
    expect(() => check(bloom, log({}), log({}))).not.toThrow()
    expect(() => check(bloom, log({}), log({ address: `0x${'01'.repeat(20)}` }))).toThrow(REFUSED)
    expect(() => check(bloom, log({ topics: [`0x${'01'.repeat(32)}`] }))).toThrow(REFUSED)
  })

  test.each(Array.from({ length: 32 }, (_, index) => index))(
    'differs by any of its bits, as for contract %i',
    (index) => {
      const own = log({ address: `0x${index.toString(16).padStart(40, '0')}` })
      const bytes = bloomOf([{ address: own.address, topics: own.topics.slice(0, 1) }])
      expect(() => check(bytesToHex(bytes), own)).not.toThrow()
      for (const [place, byte] of bytes.entries())
        for (let bit = 1; bit < 256; bit *= 2)
          if (byte & bit) expect(() => check(bytesToHex(bytes.with(place, byte & ~bit)), own)).toThrow(REFUSED)
    },
  )

  test('says nothing where it is missing, and where a node has left it empty', () => {
    expect(() => check(undefined, log({}))).not.toThrow()
    expect(() => check(`0x${'0'.repeat(512)}`, log({}))).not.toThrow()
  })
})
