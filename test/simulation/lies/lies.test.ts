/** Each lie by itself, at the endpoint that leads and at one that does not, among two and three voices. */
import { describe, expect, test } from 'vitest'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { drawn } from '../../support/sample.ts'
import { judgedAmongLiars } from './lie-oracle.ts'
import type { LiePlan } from './lie-plan.ts'
import { BRANCH_LIES, CONTENT_LIES, HEADER_LIES, LIES, type LieName } from './lies.ts'

const SEEDS = [1, 2]
const PLACES = [
  { voices: 2, voice: 0 },
  { voices: 2, voice: 1 },
  { voices: 3, voice: 0 },
] as const

function planWith(seed: number, lie: LieName, { voices, voice }: { voices: number; voice: number }): LiePlan {
  return {
    seed,
    voices,
    liars: [{ voice, lie, isFickle: false, from: lie === 'another chain after a while' ? 1 : 0 }],
    faults: [],
  }
}

/** Facts that name the liar, or the contradiction. */
function findingsIn(facts: readonly IngestFact[], liar: string): string[] {
  return facts.flatMap((fact) => {
    if (fact.kind === 'endpoints-disagree') return fact.kind
    const isOfLiar = 'endpoint' in fact && fact.endpoint === liar
    return isOfLiar && FINDINGS.includes(fact.kind) ? fact.kind : []
  })
}
const FINDINGS = ['endpoint-omitted-logs', 'endpoint-altered-logs', 'rpc-failed', 'endpoint-behind']
/** Another way to the truth is taken without a word: no proof is asked of it, or its contradiction is within its own answers. */
const IS_FOUND = (lie: LieName) =>
  lie !== 'altered times of logs' && [...CONTENT_LIES, ...HEADER_LIES, ...BRANCH_LIES].some((one) => one === lie)

describe('an honest voice beside an endpoint that lies', () => {
  test.each(drawn('lies', LIES, 1))('%s: leaves nothing false that is final', async (lie) => {
    let told = 0
    for (const place of PLACES) {
      const findings: string[] = []
      for (const seed of SEEDS) {
        const outcome = await judgedAmongLiars(planWith(seed, lie, place))
        told += outcome.told[0] ?? 0
        findings.push(...findingsIn(outcome.facts, `node-${place.voice}`))
      }
      if (IS_FOUND(lie) && place.voice === 0) expect(findings, JSON.stringify(place)).not.toEqual([])
    }
    expect(told).toBeGreaterThan(0)
  })
})

describe('finality beside one endpoint that lies', () => {
  test.each([2, 3])(
    'of %i voices: nothing becomes final above the heads of honest ones',
    async (voices) => {
      await judgedAmongLiars(planWith(1, 'a longer branch of its own', { voices, voice: 0 }))
    },
    60_000,
  )
})
