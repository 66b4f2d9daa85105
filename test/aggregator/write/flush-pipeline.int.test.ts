import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OpenCandles } from '../../../aggregator/candles/open-candles.ts'
import { acquireEpoch } from '../../../aggregator/candles/writer-epoch.ts'
import { createFlushPipeline } from '../../../aggregator/write/flush-pipeline.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf } from '../running.ts'
import { intercepted, tableOf } from '../statements.ts'

describe.skipIf(withoutClickHouse)('flushes that overlap', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('tell their changes in their order, however long the first takes: who has read the later ones looks for no earlier ones', async () => {
    const network = networkOf('overlapping')
    const seen: string[] = []
    let release = () => {}
    const secondIsUnderWay = new Promise<void>((resolve) => {
      release = resolve
    })
    const counts = new Map<string, number>()
    const client = intercepted(database.client, async (send, _, [options]) => {
      const table = tableOf(options)
      if (table === undefined) return send()
      const count = (counts.get(table) ?? 0) + 1
      counts.set(table, count)
      if (table === 'changes' && count === 1) await secondIsUnderWay
      const answer = await send()
      seen.push(`${table} ${count}`)
      if (table === 'candles' && count === 2) setTimeout(release, 50)
      return answer
    })
    const versions = await acquireEpoch(database.client, network)
    const state = { versions, horizon: () => 0, open: new OpenCandles(0), history: undefined }
    const chain = mine([], fullBlocks(2, 3))
    const flushes = createFlushPipeline(client, network, state, (task) => task(), {
      onStored: ({ tip }) => seen.push(`stored ${chain.findIndex(({ number }) => number === tip.number) + 1}`),
      onRecorded() {},
    })
    for (const [offset, message] of asBlocks(network, chain).entries())
      await flushes.begin([{ message, position: { generation: 0, offset }, parent: undefined }])
    await flushes.done()
    expect(seen.filter((it) => /^(stored|changes|blocks)/.test(it))).toEqual([
      'stored 1',
      'changes 1',
      'blocks 1',
      'stored 2',
      'changes 2',
      'blocks 2',
    ])
    expect(seen.slice(0, seen.indexOf('stored 1'))).toEqual(expect.arrayContaining(['ticks 1', 'candles 1']))
    expect(seen.indexOf('candles 2')).toBeLessThan(seen.indexOf('changes 1'))
  })
})
