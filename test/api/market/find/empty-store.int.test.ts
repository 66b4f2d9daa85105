/** A store of which nothing is read yet says so, instead of that a pair has no pool. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { block, openStore } from '../../../support/store.ts'
import { type Service, startService } from '../../service.ts'

const NOW = 1_704_420_000
const POOL = `pool=0x${'8'.repeat(40)}`

describe.skipIf(withoutClickHouse)('an empty store', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    const clock = () => new Date(NOW * 1_000)
    const networks = [NETWORKS.ethereum, NETWORKS.base]
    service = await startService({ client: database.client, networks, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function ask(path: string) {
    const { status, headers, body } = await service.get(`/v0/${path}`)
    const { code, message } = body as { code?: string; message?: string }
    return { status, retryAfter: headers.get('Retry-After'), code, message }
  }

  const used = async () =>
    ((await service.get('/v0/usage')).body as { credits: { month: { used: number } } }).credits.month.used

  test.each([
    'candles?symbol=WETH-USDC&interval=1m',
    'ticks?symbol=NOPE-WETH',
    `candles?${POOL}&interval=1m`,
    `ticks?${POOL}`,
    'pools?symbol=WETH-USDC',
  ])('answers %s with nothing_stored, for no credit', async (path) => {
    const before = await used()
    const { message, ...rest } = await ask(path)
    expect(rest).toEqual({ status: 503, retryAfter: '10', code: 'nothing_stored' })
    expect(message).toMatch(/^Nothing is stored of ethereum(, base)? yet, .*\/v0\/health/)
    expect(await used()).toBe(before)
    // An operator has nothing to mend.
    expect(service.facts.filter(({ kind }) => kind === 'request-failed')).toEqual([])
  })

  test('a network that is not read is named, with those that are', async () => {
    expect(await ask('candles?symbol=WETH-USDC&interval=1m&networks=polygon')).toMatchObject({
      status: 404,
      code: 'unknown_symbol',
      message: 'This service does not read polygon. It reads ethereum, base: ask with networks=ethereum,base.',
    })
  })

  test('speaks of pools again once a block is stored, and of the network that has none', async () => {
    await openStore(database.client, 'ethereum')([block(100, NOW - 10)])
    expect(await ask('candles?symbol=WETH-USDC&interval=1m')).toMatchObject({ status: 404, code: 'no_pool' })
    expect(await ask(`ticks?${POOL}`)).toMatchObject({ status: 404, code: 'unknown_pool' })
    expect((await service.get('/v0/pools?symbol=WETH-USDC')).body).toMatchObject({ data: [] })
    expect(await ask('ticks?symbol=WETH-USDC&networks=base')).toMatchObject({
      status: 503,
      message: expect.stringContaining('Nothing is stored of base yet'),
    })
  })
})
