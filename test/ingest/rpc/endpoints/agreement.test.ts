/** Voices agree on a block where more than half of those that count have the same hash. */
import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { agreementOf, mostOf } from '../../../../ingest/rpc/endpoints/agreement.ts'
import type { Endpoint } from '../../../../ingest/rpc/endpoints/endpoint.ts'
import { madeUpHash } from '../../../support/recorded.ts'

const [ONE, OTHER] = [madeUpHash(1), madeUpHash(2)]
/** Voices that differ and are no minority change nothing of an endpoint. */
const voiceOf = (voice: string, isCurrent: boolean) => ({ name: voice, voice, isCurrent }) as Endpoint

function agreement(expected: readonly string[], answers: Readonly<Record<string, Hash | undefined>>, isCurrent = true) {
  const facts: object[] = []
  const ask = async () =>
    Object.entries(answers).map(([voice, answer]) => ({ endpoint: voiceOf(voice, isCurrent), answer }))
  return {
    agreeAt: agreementOf(
      () => expected,
      ask,
      (fact) => facts.push(fact),
    ),
    facts,
  }
}

test('the hash of most voices is the one that more than half of them have', () => {
  expect(mostOf([ONE])).toBe(ONE)
  expect(mostOf([ONE, OTHER, ONE])).toBe(ONE)
  expect(mostOf([ONE, OTHER])).toBeUndefined()
  expect(mostOf([ONE, OTHER, OTHER, ONE])).toBeUndefined()
  expect(mostOf([])).toBeUndefined()
})

test('there is no agreement while a voice that counts is silent', async () => {
  expect(await agreement(['one', 'other'], { one: ONE }).agreeAt(7)).toBeUndefined()
  expect(await agreement(['one', 'other'], { one: ONE, other: ONE }).agreeAt(7)).toBe(ONE)
  expect(await agreement(['one'], { one: ONE }).agreeAt(7)).toBe(ONE)
})

test('a voice without the block counts against the others while its head is new', async () => {
  const answers = { one: ONE, other: undefined }
  expect(await agreement(['one', 'other'], answers).agreeAt(7)).toBeUndefined()
  expect(await agreement(['one', 'other', 'third'], { ...answers, third: ONE }).agreeAt(7)).toBe(ONE)
  expect(await agreement(['one', 'other'], answers, false).agreeAt(7)).toBe(ONE)
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
