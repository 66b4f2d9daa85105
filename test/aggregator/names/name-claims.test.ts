/** Which new name counts: two readings that agree, at two final blocks, of two voices where there are several. */
import { type Client, createClient, custom } from 'viem'
import { describe, expect, test } from 'vitest'
import { NameClaims } from '../../../aggregator/names/name-claims.ts'
import type { NamedToken } from '../../../aggregator/store/stored-tokens.ts'
import type { Token } from '../../../ingest/model/pool.ts'
import { addressOf } from '../../support/store.ts'

const MKR: Token = { address: addressOf('a1'), symbol: 'MKR', name: 'Maker', decimals: 18 }
const SKY = { symbol: 'SKY', name: 'Sky', decimals: 18 }
const STORED: NamedToken = { token: MKR, otherSymbols: [], isOne: true, namedForMs: undefined }

function clientOf(voice: string): Client {
  return Object.assign(createClient({ transport: custom({ request: async () => null }) }), { voice })
}

const [one, other] = [clientOf('one'), clientOf('other')]

function claimsOf(voices: number) {
  const blamed: number[] = []
  const rules = {
    voices: () => voices,
    renameRestMs: 1_000,
    onDecimals: (_: Token, it: number) => void blamed.push(it),
  }
  return { claims: new NameClaims(rules), blamed }
}

describe('a new name', () => {
  test('counts at the second final block where one voice answers', () => {
    const { claims } = claimsOf(1)
    expect(claims.judge(STORED, SKY, { client: one, block: 10 })).toBeUndefined()
    expect(claims.judge(STORED, SKY, { client: one, block: 10 })).toBeUndefined()
    const row = { address: MKR.address, symbol: 'SKY', name: 'Sky', former: ['MKR'], block: 11 }
    expect(claims.judge(STORED, SKY, { client: one, block: 11 })).toEqual(row)
    expect(claims.has(MKR.address)).toBe(false)
  })

  test('does not count where the same of two voices repeats it', () => {
    const { claims } = claimsOf(2)
    for (const block of [10, 11, 12]) expect(claims.judge(STORED, SKY, { client: one, block })).toBeUndefined()
    expect(claims.waiting(9).map(([token]) => token)).toEqual([MKR.address])
    expect(claims.judge(STORED, SKY, { client: other, block: 13 })?.symbol).toBe('SKY')
  })

  test('is dropped where another reading denies it', () => {
    const { claims } = claimsOf(2)
    claims.judge(STORED, SKY, { client: one, block: 10 })
    expect(claims.judge(STORED, MKR, { client: other, block: 11 })).toBeUndefined()
    expect(claims.judge(STORED, SKY, { client: other, block: 12 })).toBeUndefined()
  })

  test('waits until the last one has stayed for a while', () => {
    const { claims } = claimsOf(1)
    for (const block of [10, 11])
      expect(claims.judge({ ...STORED, namedForMs: 999 }, SKY, { client: one, block })).toBeUndefined()
    const rested = { ...STORED, namedForMs: 1_000 }
    claims.judge(rested, SKY, { client: one, block: 12 })
    expect(claims.judge(rested, SKY, { client: one, block: 13 })?.symbol).toBe('SKY')
  })

  test('does not count beside other decimals', () => {
    const { claims, blamed } = claimsOf(1)
    for (const block of [10, 11])
      expect(claims.judge(STORED, { ...SKY, decimals: 6 }, { client: one, block })).toBeUndefined()
    expect(blamed).toEqual([6, 6])
  })

  test('is not that of a contract that says nothing', () => {
    const { claims } = claimsOf(1)
    for (const block of [10, 11]) expect(claims.judge(STORED, {}, { client: one, block })).toBeUndefined()
  })

  test('is stored at once where pools of the token have two names, of which the contract answers the first', () => {
    const { claims } = claimsOf(2)
    const stored = { ...STORED, isOne: false, otherSymbols: ['SKY'] }
    const row = { address: MKR.address, symbol: 'MKR', name: 'Maker', former: ['SKY'], block: 10 }
    expect(claims.judge(stored, MKR, { client: one, block: 10 })).toEqual(row)
  })

  test('is kept of a bounded number of tokens', () => {
    const { claims } = claimsOf(1)
    for (let index = 0; index < 1_000; index++) {
      const address = addressOf(index.toString(16).padStart(4, '0'))
      claims.judge({ ...STORED, token: { ...MKR, address } }, SKY, { client: one, block: 10 })
    }
    expect(claims.waiting(1_000)).toHaveLength(200)
  })
})
