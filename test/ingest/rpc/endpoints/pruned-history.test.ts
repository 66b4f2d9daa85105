/** When blocks count as gone: all endpoints that are up lack them. */
import { type Client, createClient, custom } from 'viem'
import { describe, expect, test } from 'vitest'
import { endpointsOf } from '../../../../ingest/rpc/endpoints/endpoints.ts'
import { readInPieces } from '../../../../ingest/rpc/logs/log-range.ts'
import { BadAnswer, isPruned } from '../../../../ingest/rpc/rpc-error.ts'
import { voiceOf } from '../../../../ingest/rpc/voice.ts'

type Kind = 'pruned' | 'behind' | 'contradictory' | 'malformed'
type Answers = Readonly<Record<string, Kind>>

const RESTS = { coolDownMs: 60_000, maxCoolDownMs: 60_000 }

function endpointsNamed(...names: string[]) {
  const request = () => Promise.reject(new Error('Nothing is sent.'))
  const clients = names.map((name) => ({ ...createClient({ name, transport: custom({ request }) }), voice: name }))
  const endpoints = endpointsOf(clients, { retryPolicy: RESTS })
  const answered = (client: Client, answers: Answers): never => {
    throw new BadAnswer(answers[voiceOf(client) ?? ''] ?? 'malformed', 'no logs')
  }
  const failureOf = (answers: Answers, oldest = 100) =>
    endpoints.run(async (client) => answered(client, answers), { oldest }).catch((error: unknown) => error)
  return { endpoints, answered, failureOf }
}

describe('blocks that every endpoint lacks', () => {
  test('are gone, though an endpoint on another branch is asked last', async () => {
    const { failureOf } = endpointsNamed('one', 'branch', 'other')
    expect(isPruned(await failureOf({ one: 'pruned', branch: 'behind', other: 'pruned' }))).toBe(true)
    expect(isPruned(await failureOf({ one: 'pruned', branch: 'behind', other: 'pruned' }))).toBe(true)
  })

  test('are gone while an endpoint rests that was found without them', async () => {
    const { failureOf } = endpointsNamed('one', 'branch', 'resting')
    await failureOf({ one: 'pruned', branch: 'behind', resting: 'pruned' })
    expect(isPruned(await failureOf({ one: 'pruned', branch: 'behind', resting: 'contradictory' }))).toBe(false)
    const failure = await failureOf({ one: 'pruned', branch: 'pruned' })
    expect({ isGone: isPruned(failure), failure }).toMatchObject({ isGone: true, failure: { mayPass: true } })
    expect(isPruned(await failureOf({ one: 'pruned', branch: 'behind' }))).toBe(true)
    expect(isPruned(await failureOf({ one: 'pruned', branch: 'behind' }, 101))).toBe(false)
  })

  test('may be at an endpoint that rests and has not answered for them', async () => {
    const { failureOf } = endpointsNamed('one', 'resting')
    await failureOf({ one: 'pruned', resting: 'contradictory' })
    expect(isPruned(await failureOf({ one: 'pruned' }))).toBe(false)
  })
})

test('a range that one endpoint lacks is not read in pieces while the other one rests', async () => {
  const { endpoints, answered, failureOf } = endpointsNamed('one', 'other')
  await failureOf({ one: 'pruned', other: 'contradictory' })
  const widths: number[] = []
  const read = async (client: Client, from: number, to: number) => {
    widths.push(to - from + 1)
    return answered(client, { one: 'pruned' })
  }
  await expect(readInPieces(endpoints, 100, 163, read)).rejects.toThrow()
  expect(new Set(widths)).toEqual(new Set([64]))
})
