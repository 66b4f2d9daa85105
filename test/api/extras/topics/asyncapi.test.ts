/** The AsyncAPI document is valid by the schema of AsyncAPI itself, and every record by the schema in the document. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv, type AnySchemaObject } from 'ajv'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromTick } from '../../../../aggregator/candles/candle.ts'
import { asyncApi, RECORD_SCHEMAS } from '../../../../api/extras/topics/asyncapi.ts'
import { candleRecord, poolRecord, tickRecord } from '../../../../api/extras/topics/records.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { VENUE_NAMES, venueField } from '../../../../ingest/model/venue.ts'
import { anyTick } from '../../../support/any-tick.ts'
import { POOLS } from '../../../support/chain.ts'

const require = createRequire(import.meta.url)
const { ethereum } = NETWORKS

test('the document is valid by the schema of AsyncAPI 3.0', () => {
  const path = require.resolve('@asyncapi/specs/schemas/3.0.0.json')
  const schema: AnySchemaObject = JSON.parse(readFileSync(path, 'utf8'))
  const validate = new Ajv({ strict: false, meta: false, validateSchema: false, validateFormats: false }).compile(
    schema,
  )
  validate(asyncApi())
  expect(validate.errors).toBeNull()
})

describe('a record as JSON is valid by its schema:', () => {
  const ajv = new Ajv({ strict: true })
  formats.default(ajv)
  const [pool] = POOLS
  if (!pool) throw new Error('There are pools.')
  const [tick] = fc.sample(anyTick({ pool: pool.id }), 1)
  if (!tick) throw new Error('A sample has one.')
  const block = { number: 7, hash: `0x${'ab'.repeat(32)}`, timestamp: 1_700_000_000 }

  function expectValid(kind: string, record: object): void {
    const validate = ajv.compile(RECORD_SCHEMAS[kind] ?? false)
    validate(JSON.parse(JSON.stringify(record)))
    expect(validate.errors).toBeNull()
  }

  test('any tick, inserted or retracted', () => {
    const changes = fc.record({
      tick: anyTick({ pool: pool.id }),
      op: fc.constantFrom('insert' as const, 'retract' as const),
      hash: fc.constantFrom(block.hash, undefined),
      isFinal: fc.boolean(),
      version: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    })
    fc.assert(
      fc.property(changes, ({ hash, ...change }) => {
        const record = tickRecord(ethereum, { ...change, pool, block: { ...block, hash } })
        expectValid('ticks', record)
        expect(BigInt(record.raw.amount0)).toBe(change.tick.amount0)
        expect(record.id).toBe(`${change.tick.transactionHash}-${change.tick.logIndex}`)
      }),
    )
  })

  test('any candle', () => {
    fc.assert(
      fc.property(anyTick({ pool: pool.id }), (tick) => {
        const bucket = { pool: pool.id, resolution: 60 as const, start: 1_700_000_040, candle: fromTick(tick) }
        expectValid('candles', candleRecord(ethereum, { bucket, pool, version: 1n, isFinal: false }))
      }),
    )
  })

  test.each(VENUE_NAMES)('a pool of %s, and what was traded in it', (venue) => {
    const named = { ...pool, ...venueField(venue) }
    const bucket = { pool: pool.id, resolution: 1 as const, start: block.timestamp, candle: fromTick(tick) }
    const records = {
      pools: poolRecord(ethereum, named, { id: pool.id, pool: named, block: 7, isFinal: true }),
      ticks: tickRecord(ethereum, { op: 'insert', version: 1n, pool: named, block, tick, isFinal: true }),
      candles: candleRecord(ethereum, { bucket, pool: named, version: 1n, isFinal: true }),
    }
    for (const [kind, record] of Object.entries(records)) {
      expectValid(kind, record)
      expect(record.venue).toBe(venue)
    }
  })
})
