/** Voices agree on a block where more than half of those that count have the same hash. */
import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { agreementOf, mostOf } from '../../../../ingest/rpc/endpoints/agreement.ts'
import type { Endpoint } from '../../../../ingest/rpc/endpoints/endpoint.ts'
import { madeUpHash } from '../../../support/recorded.ts'

const [ONE, OTHER] = [madeUpHash(1), madeUpHash(2)]
/** Voices that differ and are no minority change nothing of an endpoint. */
const voiceOf = (voice: string, isCurrent: boolean) =>
  ({ name: voice, voice, isCurrent, headTime: HEAD_TIMES[voice] }) as Endpoint
const TIME = 1_700_000_000
const HEAD_TIMES: Record<string, number> = { one: TIME + 700, other: TIME + 690 }

function agreement(expected: readonly string[], answers: Readonly<Record<string, Hash | undefined>>, isCurrent = true) {
  const facts: object[] = []
  const ask = async () =>
    Object.entries(answers).map(([voice, hash]) => ({
      endpoint: voiceOf(voice, isCurrent),
      answer: hash && { hash, timestamp: TIME },
    }))
  const agreeAt = agreementOf(
    () => expected,
    ask,
    (fact) => facts.push(fact),
  )
  return { agreeAt, hashAt: async (number: number) => (await agreeAt(number))?.hash, facts }
}

test('the hash of most voices is the one that more than half of them have', () => {
  expect(mostOf([ONE])).toBe(ONE)
  expect(mostOf([ONE, OTHER, ONE])).toBe(ONE)
  expect(mostOf([ONE, OTHER])).toBeUndefined()
  expect(mostOf([ONE, OTHER, OTHER, ONE])).toBeUndefined()
  expect(mostOf([])).toBeUndefined()
})

test('there is no agreement while a voice that counts is silent', async () => {
  expect(await agreement(['one', 'other'], { one: ONE }).hashAt(7)).toBeUndefined()
  expect(await agreement(['one', 'other'], { one: ONE, other: ONE }).hashAt(7)).toBe(ONE)
  expect(await agreement(['one'], { one: ONE }).hashAt(7)).toBe(ONE)
})

test('a voice without the block counts against the others while its head is new', async () => {
  const answers = { one: ONE, other: undefined }
  expect(await agreement(['one', 'other'], answers).hashAt(7)).toBeUndefined()
  expect(await agreement(['one', 'other', 'third'], { ...answers, third: ONE }).hashAt(7)).toBe(ONE)
  expect(await agreement(['one', 'other'], answers, false).hashAt(7)).toBe(ONE)
})

test('voices that agree tell the time of the block and of the oldest of their heads', async () => {
  const answers = { one: ONE, other: ONE }
  expect(await agreement(['one', 'other'], answers).agreeAt(7)).toEqual({
    ...{ hash: ONE, timestamp: TIME, headTime: TIME + 690 },
  })
  expect(await agreement(['one'], { one: ONE, third: ONE }).agreeAt(7)).toMatchObject({ headTime: 0 })
})

test('two voices that differ agree on nothing, which is reported once', async () => {
  const { agreeAt, facts } = agreement(['one', 'other'], { one: ONE, other: OTHER })
  expect(await agreeAt(7)).toBeUndefined()
  expect(await agreeAt(8)).toBeUndefined()
  const voices = [
    { endpoint: 'one', hash: ONE },
    { endpoint: 'other', hash: OTHER },
  ]
  expect(facts).toEqual([{ kind: 'endpoints-disagree', block: 7, voices, agreed: undefined }])
})
