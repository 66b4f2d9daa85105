import { describe, expect, it } from 'vitest'
import { headerVerdict } from '../../../ingest/proof/header-hash.ts'
import { randomOf } from '../../simulation/random.ts'
import { realBlocks, realHeaders } from '../../support/proof-blocks.ts'
import { flipDigit } from './forge.ts'

const headers = [...realHeaders(), ...realBlocks().map(({ name, header }) => ({ network: name, header }))]

describe('the hash of a header', () => {
  it.each(headers)('is computed from the fields of a real one of $network, block $header.number', ({ header }) => {
    expect(headerVerdict(header)).toBe('proven')
  })

  it('ignores fields of later forks that a node answers for an earlier block', () => {
    for (const { header } of headers) {
      const later = { withdrawalsRoot: header['stateRoot'], blobGasUsed: '0x0', excessBlobGas: '0x0' }
      expect(headerVerdict({ ...later, ...header, requestsHash: header['requestsHash'] ?? null })).toBe('proven')
    }
  })

  it('changes with any digit of any field: 5,000 forged headers are refused', () => {
    const random = randomOf(43)
    const verdicts = new Map<string, number>()
    for (let count = 0; count < 5_000; count++) {
      const { header } = headers[random.between(0, headers.length - 1)] ?? missing()
      const names = HASHED.filter((field) => (header[field]?.length ?? 0) > 2)
      const name = names[random.between(0, names.length - 1)] ?? missing()
      const forged = { ...header, [name]: flipDigit(header[name] ?? '0x', random) }
      const verdict = headerVerdict(forged)
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1)
    }
    expect(Object.fromEntries(verdicts)).toEqual({ forged: 5_000 })
  })

  it.each([
    ['a field is missing', { stateRoot: undefined }],
    ['a field is null', { receiptsRoot: null }],
    ['a field is a number', { timestamp: 1_700_000_000 }],
    ['a field is too long', { miner: `0x${'a'.repeat(64)}` }],
    ['a field is no hex', { gasUsed: '0xzz' }],
    ['the hash is missing', { hash: null }],
  ])('is refused where %s', (_, change) => {
    for (const { header } of headers) expect(headerVerdict({ ...header, ...change })).toBe('forged')
  })

  it('is not known where the header has a field that no known fork has', () => {
    for (const { header } of headers) {
      expect(headerVerdict({ ...header, hash: `0x${'1'.repeat(64)}`, laterRoot: `0x${'2'.repeat(64)}` })).toBe(
        'unknown-fork',
      )
    }
  })
})

function missing(): never {
  throw new Error('There is a header, and it has fields.')
}

const HASHED = [
  ...[
    'parentHash',
    'sha3Uncles',
    'miner',
    'stateRoot',
    'transactionsRoot',
    'receiptsRoot',
    'logsBloom',
    'difficulty',
    'number',
  ],
  ...[
    'gasLimit',
    'gasUsed',
    'timestamp',
    'extraData',
    'mixHash',
    'nonce',
    'baseFeePerGas',
    'withdrawalsRoot',
    'blobGasUsed',
  ],
  ...['excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash', 'hash'],
] as const
