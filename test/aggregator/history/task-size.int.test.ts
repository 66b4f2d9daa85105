/** How many ticks of a job one insert takes: as many as a flush where no stream waits for it, few beside a stream. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aggregate } from '../../../aggregator/aggregate.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { Message, RangeOverwrite } from '../../../ingest/model/message.ts'
import { blockMessage, rangeMessage, type Shape } from '../../bench/synthetic.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { intercepted, tableOf } from '../statements.ts'

const SHAPE: Shape = { network: 'ethereum', swapsPerBlock: 100, pools: 10, firstTime: 1_700_000_000 }
const BLOCKS = 120

describe.skipIf(withoutClickHouse)('ticks of a job', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
  })

  afterAll(() => database?.drop())

  test('are one insert where no stream writes, and several beside a stream', async () => {
    let inserts = 0
    const client = intercepted(database.client, async (send, _, [options]) => {
      if (tableOf(options) === 'ticks') inserts++
      return send()
    })
    const log = inProcessLog<Message>({ nextOffset: 0 })
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const stopping = new AbortController()
    const position = { generation: 0, offset: 0 }
    const { network } = SHAPE
    const options = { network, log, history, position, report: () => {}, signal: stopping.signal }
    const ended = aggregate(client, options)
    const insertsOf = async (job: number, from: number) => {
      const before = inserts
      await history.append([overwriteOf(job, from)])
      return inserts - before
    }

    expect(await insertsOf(1, 1)).toBe(1)
    await log.append([blockMessage(10_000, SHAPE)])
    // 12,000 ticks in pieces of 5,000.
    expect(await insertsOf(2, 1_001)).toBe(3)

    stopping.abort()
    await Promise.all([log.close(), history.close()])
    await ended
  })
})

function overwriteOf(job: number, from: number): RangeOverwrite {
  const { to, hash, timestamp, blocks } = rangeMessage(from, from + BLOCKS - 1, SHAPE)
  const firstTimestamp = blocks[0]?.timestamp ?? 0
  return {
    kind: 'restatement',
    network: SHAPE.network,
    job,
    pools: undefined,
    from,
    to,
    firstTimestamp,
    timestamp,
    hash,
    blocks,
  }
}
