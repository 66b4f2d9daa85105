import { describe, expect, test } from 'vitest'
import { MAX_BATCH, openKeyLookups } from '../../../api/accounts/key-lookups.ts'
import type { KeyHash, KeyRecord } from '../../../api/accounts/keys.ts'

const GOOD = 'good'
const RECORD: KeyRecord = {
  hash: GOOD,
  id: 'key_1',
  name: 'test',
  plan: 'free',
  billingStart: undefined,
  created: 0,
  revoked: undefined,
}

/** Statements are held until `answer` is called for each. */
function openHeld() {
  const statements: { hashes: readonly KeyHash[]; answer(error?: Error): void }[] = []
  const lookups = openKeyLookups(
    (hashes) =>
      new Promise((resolve, reject) => {
        const found = new Map(hashes.filter((hash) => hash === GOOD).map((hash) => [hash, RECORD]))
        statements.push({ hashes, answer: (error) => (error ? reject(error) : resolve(found)) })
      }),
    0,
  )
  const statement = async (number: number) => {
    await expect.poll(() => statements.length).toBe(number)
    return statements[number - 1] ?? expect.fail()
  }
  return { lookups, statements, statement }
}

describe('lookups of unknown keys', () => {
  test('are read one batch at a time, of a bounded size', async () => {
    const { lookups, statements, statement } = openHeld()
    const asked = Array.from({ length: 10_000 }, (_, number) => lookups.find(`bad ${number}`, '1.2.3.4'))
    const good = lookups.find(GOOD, '1.2.3.4')
    for (const number of [1, 2, 3, 4]) (await statement(number)).answer()
    expect(await good).toEqual(RECORD)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([undefined]))
    expect(statements.map(({ hashes }) => hashes.length)).toEqual([1, MAX_BATCH, MAX_BATCH, 2_000])
  })

  test('take the addresses in turn: a flood of one leaves a place for each other one in the next statement', async () => {
    const { lookups, statement } = openHeld()
    for (let number = 0; number < 10_000; number++) void lookups.find(`bad ${number}`, '1.2.3.4')
    const others = Array.from({ length: 50 }, (_, number) => lookups.find(`other ${number}`, `5.6.7.${number}`))
    const good = lookups.find(GOOD, '2001:db8:0:0::/64')
    ;(await statement(1)).answer()
    const second = await statement(2)
    second.answer()
    expect(await good).toEqual(RECORD)
    expect(await Promise.all(others)).toEqual(Array(50).fill(undefined))
    expect(second.hashes.filter((hash) => hash.startsWith('bad'))).toHaveLength(MAX_BATCH - 51)
  })

  test('read a key once for all that wait for it, and again for one that asks while its statement runs', async () => {
    const { lookups, statement } = openHeld()
    const first = lookups.find('first', '1.2.3.4')
    const waiting = [1, 2, 3].map(() => lookups.find(GOOD, '1.2.3.4'))
    ;(await statement(1)).answer()
    expect(await first).toBeUndefined()
    const second = await statement(2)
    expect(second.hashes).toEqual([GOOD])
    // The key may be stored after the statement has read.
    const late = lookups.find(GOOD, '1.2.3.4')
    second.answer()
    expect(await Promise.all(waiting)).toEqual([RECORD, RECORD, RECORD])
    ;(await statement(3)).answer()
    expect(await late).toEqual(RECORD)
  })

  test('refuse, once too many wait, those of the addresses that wait with the most', async () => {
    const { lookups } = openHeld()
    const refused: string[] = []
    const find = (hash: string, address: string) =>
      lookups.find(hash, address).catch((error: { code: string }) => void refused.push(error.code))
    for (let number = 0; number < 30_000; number++) void find(`bad ${number}`, '1.2.3.4')
    await Promise.resolve()
    await expect.poll(() => refused.length).toBe(9_999)
    expect(new Set(refused)).toEqual(new Set(['overloaded']))
    void find(GOOD, '5.6.7.8')
    for (let number = 0; number < 30_000; number++) void find(`bad ${number}`, `2001:db8:0:${number.toString(16)}::/64`)
    // Twice as many is the end, however many addresses ask.
    await expect.poll(() => refused.length).toBe(9_999 + 30_000 - 19_999)
  })

  test('fail with their statement alone', async () => {
    const { lookups, statement } = openHeld()
    const failed = lookups.find('first', '1.2.3.4')
    const good = lookups.find(GOOD, '1.2.3.4')
    ;(await statement(1)).answer(new Error('The store is down.'))
    await expect(failed).rejects.toThrow('The store is down.')
    ;(await statement(2)).answer()
    expect(await good).toEqual(RECORD)
  })
})
