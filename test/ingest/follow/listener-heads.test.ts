/** Finality of a node, also where it does not support the tag. */
import { createClient, http, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { Finality } from '../../../ingest/rpc/finality.ts'
import { getHeads } from '../../../ingest/rpc/rpc.ts'
import { madeUpHash } from '../../support/recorded.ts'

type Answer = { result: unknown } | { error: { code: number; message: string } } | { status: number }

const header = (number: number) => ({
  result: {
    number: numberToHex(number),
    hash: madeUpHash(number),
    parentHash: madeUpHash(number - 1),
    timestamp: '0x1',
  },
})

/** A node at `head` that answers so where it is asked for `finalized`, for the n-th time. */
async function headsOf(head: number, finalized: Answer, times = 1) {
  const answer = (tag: string): Answer => {
    if (tag === 'finalized') return finalized
    const number = tag === 'latest' ? head : Number(tag)
    return number <= head ? header(number) : { result: null }
  }
  const client = createClient({
    transport: http('http://node.invalid', {
      retryCount: 0,
      async fetchFn(_, init) {
        const { id, params } = JSON.parse(String(init?.body)) as { id: number; params: [string] }
        const outcome = answer(params[0])
        if ('status' in outcome) return new Response('{"error":"not now"}', { status: outcome.status })
        return Response.json({ jsonrpc: '2.0', id, ...outcome })
      },
    }),
  })
  const finality = new Finality()
  for (let time = 1; time < times; time++) await getHeads(client, finality)
  return getHeads(client, finality)
}

describe('the newest final block', () => {
  test('is the one that the node names', async () => {
    expect(await headsOf(1_000, header(936))).toMatchObject({
      head: { number: 1_000 },
      finalized: 936,
      final: { number: 936, hash: madeUpHash(936) },
    })
  })

  test.each([
    ['a refusal', { error: { code: -32602, message: 'invalid argument 0: hex string without 0x prefix' } }],
    ['an error without a code of its own', { error: { code: -32000, message: 'unknown block tag' } }],
    ['geth before the merge', { error: { code: -39001, message: 'finalized block not found' } }],
    ['null', { result: null }],
  ])('is the one 256 below the head where the node does not know the tag: %s', async (_, answer) => {
    const guess = { finalized: 744, final: { hash: madeUpHash(744) }, isGuess: true }
    expect(await headsOf(1_000, answer, 3)).toMatchObject(guess)
    expect(await headsOf(255, answer, 3)).toMatchObject({ finalized: -1, final: undefined })
    // A node that is started again knows none for a while.
    expect(await headsOf(1_000, answer, 2)).toMatchObject({ finalized: undefined, final: undefined, isGuess: false })
  })

  // On a rollup thousands of blocks are not final: 256 would be a guess that lets final ranges be read too early.
  test.each([
    ['429', { status: 429 }],
    ['503', { status: 503 }],
    [
      'a rate limit in words',
      { error: { code: -32005, message: 'daily request count exceeded, request rate limited' } },
    ],
    ['no header', { result: 'nonsense' }],
  ])('is not guessed where the node does not answer: %s', async (_, answer) => {
    await expect(headsOf(1_000, answer)).rejects.toThrow()
  })

  // Behind one address the one node may lag behind the other, or sit on a branch that was left.
  test('is not told by two nodes, of which the one names a head below what is final at the other', async () => {
    await expect(headsOf(1_000, header(1_005))).rejects.toThrow('head is block 1000, though block 1005 is final')
  })

  test('is requested again once its age is reached, and where the head is below it', async () => {
    const requested: string[] = []
    const chain = { head: 1_000, finalized: 936 }
    const client = createClient({
      transport: http('http://node.invalid', {
        retryCount: 0,
        async fetchFn(_, init) {
          const { id, params } = JSON.parse(String(init?.body)) as { id: number; params: [string] }
          requested.push(params[0])
          return Response.json({ jsonrpc: '2.0', id, ...header(params[0] === 'latest' ? chain.head : chain.finalized) })
        },
      }),
    })
    const finality = new Finality()
    await getHeads(client, finality, 60_000)
    Object.assign(chain, { head: 1_001, finalized: 940 })
    expect(await getHeads(client, finality, 60_000)).toMatchObject({ head: { number: 1_001 }, finalized: 936 })
    expect(requested).toEqual(['latest', 'finalized', 'latest'])
    expect(await getHeads(client, finality, 0)).toMatchObject({ finalized: 940 })
    expect(requested.slice(3)).toEqual(['latest', 'finalized'])
    Object.assign(chain, { head: 930, finalized: 920 })
    expect(await getHeads(client, finality, 60_000)).toMatchObject({ head: { number: 930 }, finalized: 920 })
    expect(requested.slice(5)).toEqual(['latest', 'finalized'])
  })
})
