/** While the permanent verification runs flat out, blocks, forks, overwrites and rebuilds race with it: it reports nothing. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openJob } from '../../../../aggregator/jobs/job.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import { asRestatement, type Chain, type Step, steps, tellings } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { sample } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { networkOf, startAggregator } from '../../running.ts'

const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9))
const HISTORIES = sample('HISTORIES', 3, 6)
const AT_ONCE = 3
/** Slices of a few rows, one after the other. A mismatch is read again at once. */
const verify = { share: 1, bounds: { ticks: 5, pools: 2, blocks: 3 }, recheckMs: 0, saveMs: 0, restMs: 0 }

describe.skipIf(withoutClickHouse)('a verification beside its writer', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test(`reports nothing that is only being written (seed ${SEED})`, async () => {
    const histories = fc.sample(steps, { numRuns: HISTORIES, seed: SEED })
    for (let first = 0; first < histories.length; first += AT_ONCE) {
      await Promise.all(
        histories.slice(first, first + AT_ONCE).map((history, index) => play(history, `races ${first + index}`)),
      )
    }
  })

  /** After each stretch a job takes away some of the final ticks, gives them back, and rebuilds, while slices are verified. The first stretch is final. */
  async function play(history: readonly Step[], name: string): Promise<void> {
    const network = networkOf(name)
    const log = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const aggregator = await startAggregator(database.client, { network, history: log, verify })
    const told = tellings(
      network,
      history.map((step, index) => ({ ...step, as: index % 2 === 0 ? 'range' : step.as })),
    )
    const count = (kind: string) => aggregator.facts.filter((fact) => fact.kind === kind).length
    let job = 0
    for (const { messages, chain } of told) {
      await aggregator.append(messages)
      const last = messages.findLast((message) => message.kind === 'range')?.to ?? -1
      const final = chain.filter(({ number }) => number <= last)
      if (final.length === 0) continue
      const overwrites = [halved(final), final].map((blocks) => asRestatement(network, blocks, { job: ++job }))
      const before = count('verified')
      for (const overwrite of overwrites) await log.append([overwrite])
      await openJob(database.client, { network, from: 0, to: 2 ** 32 - 1, pools: undefined, concurrency: 1 }, 'rebuild')
      await until(async () => count('restated') >= job || undefined, 'the ranges are overwritten')
      await until(async () => count('verified') > before + 3 || undefined, 'some slices are verified')
    }
    const passes = count('verify-passed')
    expect(job).toBeGreaterThan(0)
    await until(async () => count('verify-passed') > passes || undefined, 'everything is verified')
    await aggregator.stop()
    await log.close()
    expect(aggregator.facts.filter(({ kind }) => kind === 'verify-mismatch')).toEqual([])
    expect(aggregator.facts.filter(({ kind }) => kind === 'verify-failed')).toEqual([])
  }
})

function halved(chain: Chain): Chain {
  return chain.map((block) => ({ ...block, ticks: block.ticks.filter((_, index) => index % 2 === 0) }))
}
