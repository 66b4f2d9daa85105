/** Readiness of a process, from the facts that its stages report. */
import { describe, expect, test } from 'vitest'
import type { Fact, StageName } from '../../../infra/telemetry/fact.ts'
import { openReadiness, type StoredTips } from '../../../infra/telemetry/readiness.ts'

const network = 'ethereum' as const
const NOW = Math.floor(Date.now() / 1000)
const HASH = `0x${'ab'.repeat(32)}` as const

/** The only network's reason, after these facts; undefined where it is ready. */
function reasonOf(
  stages: readonly StageName[],
  facts: readonly Fact[],
  view: Partial<StoredTips> = {},
): string | undefined {
  const readiness = openReadiness((text) => text)
  for (const stage of stages) readiness.report({ kind: 'stage-started', stage, network })
  for (const fact of facts) readiness.report(fact)
  const [reason] = readiness.reasons({ now: NOW, maxTipAgeSeconds: 300, tips: new Map(), ...view })
  return reason
}

const head = (number: number, age = 5): Fact => ({
  kind: 'head-seen',
  network,
  number,
  timestamp: NOW - age,
  finalized: number - 64,
})
const appended = (number: number, age = 5): Fact => ({
  kind: 'block-appended',
  network,
  number,
  ticks: 1,
  timestamp: NOW - age,
})
const writing: Fact = { kind: 'aggregator-started', network, tip: undefined, epoch: 1n, generation: 1, offset: 0 }
const standingBy: Fact = {
  kind: 'log-standing-by',
  topic: `blocks.${network}`,
  group: 'candlepool.aggregator.ethereum',
}
const stored = (number: number, age = 5) => ({ tips: new Map([[network, { number, timestamp: NOW - age }]]) })

describe('a listener', () => {
  const reason = (...facts: Fact[]) => reasonOf(['listener'], facts)

  test('a listener is ready at the head of the chain', () => {
    expect(reason(head(1_000), appended(1_000))).toBeUndefined()
    expect(reason(head(1_001), appended(1_000))).toBeUndefined()
  })

  test('says why it is not', () => {
    expect([
      reason(),
      reason(head(1_000, 900)),
      reason({ kind: 'resumed', network, at: { number: 400, hash: HASH }, firstBlock: 401 }, head(1_000)),
      reason(head(1_000), { kind: 'range-appended', network, from: 1, to: 500, ticks: 9, timestamp: NOW - 6_005 }),
      reason(head(1_000), appended(1_000), {
        kind: 'stage-halted',
        stage: 'listener',
        network,
        error: new Error('The ethereum chain was replaced below its finality.'),
      }),
    ]).toMatchInlineSnapshot(`
      [
        "ethereum: no endpoint has reported its head yet.",
        "ethereum: the chain or its endpoints stand still: their newest block, 1000, is 15 min old.",
        "ethereum: it is catching up: its listener is at block 400 of 1000.",
        "ethereum: it is catching up: its listener is at block 500 of 1000, 100 min behind the head.",
        "ethereum: its listener has halted: The ethereum chain was replaced below its finality.",
      ]
    `)
  })

  test('a listener names what its endpoint refuses, in words of its own for everyone, until blocks are read again', () => {
    const readiness = openReadiness((text) => text)
    const look = (...facts: Fact[]) => {
      for (const fact of facts) readiness.report(fact)
      const view = { now: NOW, maxTipAgeSeconds: 300, tips: new Map() }
      return [readiness.reasons(view), [...readiness.problems(view)], readiness.isReading(network)]
    }
    readiness.report({ kind: 'stage-started', stage: 'listener', network })
    const error = new Error('rpc.example did not answer eth_getLogs of blocks 5 to 9 (refused): no')
    const asked = { method: 'eth_getLogs', blocks: '5 to 9' }
    const failed = {
      kind: 'rpc-failed',
      network,
      endpoint: 'rpc.example',
      problem: 'refused',
      ...asked,
      error,
      retryMs: 1,
    } as const
    expect([
      look(failed),
      look(head(1_000)),
      look(appended(500, 6_005)),
      look(failed),
      look(appended(1_000)),
    ]).toMatchInlineSnapshot(`
      [
        [
          [
            "ethereum: no endpoint has reported its head yet: the endpoint refuses eth_getLogs of blocks 5 to 9: rpc.example did not answer eth_getLogs of blocks 5 to 9 (refused): no",
          ],
          [
            [
              "ethereum",
              "no endpoint has reported its head yet: the endpoint refuses eth_getLogs of blocks 5 to 9.",
            ],
          ],
          false,
        ],
        [
          [
            "ethereum: the endpoint refuses eth_getLogs of blocks 5 to 9; its listener is at block 0 of 1000: rpc.example did not answer eth_getLogs of blocks 5 to 9 (refused): no",
          ],
          [
            [
              "ethereum",
              "the endpoint refuses eth_getLogs of blocks 5 to 9; its listener is at block 0 of 1000.",
            ],
          ],
          false,
        ],
        [
          [
            "ethereum: it is catching up: its listener is at block 500 of 1000, 100 min behind the head.",
          ],
          [
            [
              "ethereum",
              "it is catching up: its listener is at block 500 of 1000, 100 min behind the head.",
            ],
          ],
          true,
        ],
        [
          [
            "ethereum: the endpoint refuses eth_getLogs of blocks 5 to 9; its listener is at block 500 of 1000, 100 min behind the head: rpc.example did not answer eth_getLogs of blocks 5 to 9 (refused): no",
          ],
          [
            [
              "ethereum",
              "the endpoint refuses eth_getLogs of blocks 5 to 9; its listener is at block 500 of 1000, 100 min behind the head.",
            ],
          ],
          false,
        ],
        [
          [],
          [],
          true,
        ],
      ]
    `)
  })

  test('a listener is ready where it was away for less than is allowed, however many blocks that is', () => {
    expect(reason(head(1_000), appended(200, 200))).toBeUndefined()
  })

  test('a listener that no endpoint answers any more is not ready', () => {
    const later = { now: NOW + 400, mostSeconds: 300 }
    expect(reasonOf(['listener'], [head(1_000), appended(1_000)], later)).toMatch(
      /^ethereum: no endpoint has reported its head for \d+ min\.$|^ethereum: no endpoint has reported its head for \d+ s\.$/,
    )
  })

  test('the age of stored blocks does not count for a listener', () => {
    expect(reasonOf(['listener'], [head(1_000), appended(1_000)], stored(1, 90_000))).toBeUndefined()
  })
})

describe('an aggregator', () => {
  const unstored: Fact = { kind: 'store-failed', network, error: new Error('No space left on device'), retryMs: 250 }
  const flushed: Fact = {
    ...{ kind: 'flushed', network, from: 81, to: 81, blocks: 1, ticks: 1, tipTimestamp: NOW, ms: 1 },
  }
  const stalled: Fact = { kind: 'stalled', network, number: 90, tip: 80 }

  test('an aggregator is ready while it writes new blocks', () => {
    expect(reasonOf(['aggregator'], [writing], stored(80))).toBeUndefined()
    expect(
      reasonOf(['aggregator'], [writing, stalled, { kind: 'connected', network, number: 81 }], stored(81)),
    ).toBeUndefined()
  })

  test('says why it is not', () => {
    expect([
      reasonOf(['aggregator'], []),
      reasonOf(['aggregator'], [writing]),
      reasonOf(['aggregator'], [writing], stored(80, 4_000)),
      reasonOf(['aggregator'], [writing, stalled], stored(80)),
      reasonOf(['aggregator'], [writing, unstored], stored(80)),
      reasonOf(['aggregator'], [writing, unstored, flushed], stored(80)),
      reasonOf(
        ['aggregator'],
        [writing, { kind: 'stage-restarted', stage: 'aggregator', network, error: new Error() }],
        stored(80),
      ),
    ]).toMatchInlineSnapshot(`
      [
        "ethereum: its aggregator has not been given the log to read yet.",
        "ethereum: nothing of it is stored yet.",
        "ethereum: its newest stored block, 80, is 66 min old.",
        "ethereum: it is stalled: block 90 of the log does not connect to the stored tip, 80; the listener sends again from there within two minutes.",
        "ethereum: ClickHouse does not store its blocks: No space left on device",
        undefined,
        "ethereum: its aggregator has not been given the log to read yet.",
      ]
    `)
  })

  test('an aggregator that stands by is ready, by name, however old the tables are', () => {
    const readiness = openReadiness((text) => text)
    for (const fact of [{ kind: 'stage-started', stage: 'aggregator', network }, standingBy] as const)
      readiness.report(fact)
    expect(readiness.reasons({ now: NOW, maxTipAgeSeconds: 300, ...stored(80, 4_000) })).toEqual([])
    expect(readiness.standingBy()).toEqual([network])
    readiness.report(writing)
    expect(readiness.standingBy()).toEqual([])
    expect(readiness.reasons({ now: NOW, maxTipAgeSeconds: 300, ...stored(80, 4_000) })).toHaveLength(1)
  })
})

describe('an API', () => {
  test('an API is ready while its newest blocks are new', () => {
    expect(reasonOf(['api'], [], stored(80))).toBeUndefined()
    expect(reasonOf(['api'], [], stored(80, -3))).toBeUndefined()
    expect(reasonOf(['api'], [], { ...stored(80, 299) })).toBeUndefined()
  })

  test('an API says that nothing is stored, how old the newest block is, and whether it comes nearer', () => {
    const readiness = openReadiness((text) => text)
    readiness.report({ kind: 'stage-started', stage: 'api', network })
    const look = (view: Partial<StoredTips>) =>
      readiness.reasons({ now: NOW, maxTipAgeSeconds: 300, tips: new Map(), ...view })
    expect([
      look({}),
      look(stored(80, 4_000)),
      look(stored(90, 3_000)),
      look(stored(90, 3_000)),
    ]).toMatchInlineSnapshot(`
      [
        [
          "ethereum: nothing of it is stored yet.",
        ],
        [
          "ethereum: its newest stored block, 80, is 66 min old.",
        ],
        [
          "ethereum: it is catching up: its newest stored block, 90, is 50 min old.",
        ],
        [
          "ethereum: its newest stored block, 90, is 50 min old.",
        ],
      ]
    `)
  })
})

test('the first of several causes is named, and each network has its own', () => {
  const readiness = openReadiness((text) => text)
  for (const stage of ['listener', 'aggregator', 'api'] as const) {
    for (const network of ['ethereum', 'base'] as const) readiness.report({ kind: 'stage-started', stage, network })
  }
  readiness.report(head(10))
  readiness.report(appended(10))
  readiness.report(writing)
  expect(readiness.networks()).toEqual(['ethereum', 'base'])
  const reasons = readiness.reasons({ now: NOW, maxTipAgeSeconds: 300, ...stored(10, 4_000) })
  expect(reasons.map((it) => it.split('.')[0])).toMatchInlineSnapshot(`
    [
      "ethereum: its newest stored block, 10, is 66 min old",
      "base: no endpoint has reported its head yet",
    ]
  `)
})
