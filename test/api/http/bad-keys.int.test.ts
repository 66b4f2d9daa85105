/** Floods of bad keys: a good key is answered all the same, whatever address it comes from, and proxies are told apart from clients. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { openAccounts } from '../../../api/accounts/accounts.ts'
import { createKey } from '../../../api/accounts/keys.ts'
import { intercepted } from '../../aggregator/statements.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { ofExtras } from '../../support/extras.ts'
import { ProblemBody } from '../body.ts'
import { POOLS, TIP } from '../scenario.ts'
import { scenarioServices } from '../scenario-services.ts'
import type { Service } from '../service.ts'

const CLOSED = `/v0/candles?pool=${POOLS.main.id}&interval=1m&limit=10&to=${new Date((TIP - 60) * 1_000).toISOString()}`
const clock = () => new Date((TIP + 10) * 1_000)
const badKey = () => `cp_${randomBytes(32).toString('base64url')}`

describe.skipIf(withoutClickHouse)('bad keys', () => {
  const scenario = scenarioServices(clock)
  const { start } = scenario
  const newKey = () => createKey({ client: scenario.database.client, plan: 'free', name: 'fresh' })

  test('a good key is answered beside twelve clients that send bad keys from its address', async () => {
    const service = await start()
    const keys = await Promise.all(Array.from({ length: 7 }, newKey))
    const floods = Array.from({ length: 12 }, () => startFlood(service.url, 100))
    await Promise.all(floods.map(({ refused }) => refused))
    // Each is asked twice: at first sight, and as a key that is known.
    for (const look of ['first', 'second']) {
      const statuses = await Promise.all(
        keys.map(async (key) => (await service.get('/v0/usage', { 'X-API-KEY': key })).status),
      )
      expect(statuses, look).toEqual(Array(7).fill(200))
    }
    await Promise.all(floods.map(({ stop }) => stop()))
    expect((await service.get('/v0/usage', { 'X-API-KEY': badKey() })).status).toBe(429)
  })

  test('10,000 bad keys at once cost a statement for each thousand, and a good key among them is found', async () => {
    const statements: number[] = []
    const client = intercepted(scenario.database.connect(), (send, _, [options]) => {
      const { query_params } = options as { query_params?: { hashes?: readonly string[] } }
      if (query_params?.hashes !== undefined) statements.push(query_params.hashes.length)
      return send()
    })
    const accounts = openAccounts({ client, clock, report: () => {} })
    const [key, other] = [await newKey(), await newKey()]
    const bad = Array.from({ length: 10_000 }, () => accounts.find(badKey(), '127.0.0.1'))
    const good = accounts.find(key, '127.0.0.1')
    // Another address is in the next batch: four statements after the first one.
    await accounts.find(other, '203.0.113.7')
    expect(statements.length).toBeLessThanOrEqual(5)
    expect(await good).toMatchObject({ plan: 'free' })
    expect(new Set(await Promise.all(bad))).toEqual(new Set([undefined]))
    expect(statements.reduce((sum, hashes) => sum + hashes, 0)).toBe(10_002)
    expect(statements.length).toBeLessThanOrEqual(12)
    await accounts.close()
  })

  type Way = [place: string, more: Record<string, string>]
  describe.each<Way>([
    ['/v0/usage', {}],
    ...ofExtras<Way>(['/v0/ticks?symbol=WETH-USDC', { Accept: 'text/event-stream' }]),
    ['a repeated request for closed candles', { 'Accept-Encoding': 'identity' }],
    ...ofExtras<Way>(['POST /page/code', {}]),
  ])('at %s', (place, more) => {
    const isCode = place.startsWith('POST')
    const path = isCode ? '/page/code' : place.startsWith('/') ? place : CLOSED

    async function ask(service: Service, forwarded: string): Promise<string> {
      const bad = isCode ? { 'X-Page-Code': 'guess' } : { 'X-API-KEY': badKey() }
      const headers = { ...more, ...bad, 'X-Forwarded-For': forwarded }
      const { body } = await service.get(path, headers, isCode ? 'POST' : 'GET')
      return ProblemBody.parse(body).code
    }
    async function warm(service: Service): Promise<void> {
      if (path !== CLOSED) return
      for (let look = 0; look < 3; look++) await service.get(path, { ...more, 'X-API-KEY': service.key })
    }

    test('bad keys count for the client that a trusted proxy names', async () => {
      const service = await start({ trustedProxies: { addresses: ['loopback'] } })
      await warm(service)
      for (let guess = 0; guess < 20; guess++)
        expect(await ask(service, `198.51.100.${guess}, 2001:db8:0:1::${guess}`)).toBe('unauthorized')
      expect(await ask(service, '2001:db8:0:1:a:b:c:d')).toBe('too_many_failures')
      expect(await ask(service, '2001:db8:0:2::1')).toBe('unauthorized')
    })

    test('bad keys count for the peer without TRUST_PROXY, whatever it claims', async () => {
      const service = await start()
      await warm(service)
      for (let guess = 0; guess < 20; guess++) expect(await ask(service, `198.51.100.${guess}`)).toBe('unauthorized')
      expect(await ask(service, '203.0.113.7')).toBe('too_many_failures')
    })
  })
})

/** Sends so many requests with different bad keys at once on one connection, and again once they are answered, until it is stopped. */
function startFlood(url: string, count: number): { refused: Promise<void>; stop(): Promise<void> } {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('latin1')
  const send = () =>
    socket.write(
      Array.from({ length: count }, () => `GET /v0/usage HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${badKey()}\r\n\r\n`).join(
        '',
      ),
    )
  let answered = 0
  const refused = new Promise<void>((resolve) => {
    socket
      .on('error', () => undefined)
      .on('data', (text: string) => {
        if (text.includes('too_many_failures')) resolve()
        const before = Math.floor(answered / count)
        answered += text.split('HTTP/1.1 4').length - 1
        if (Math.floor(answered / count) > before) send()
      })
  })
  send()
  return {
    refused,
    stop: () =>
      new Promise((resolve) => {
        socket.once('close', () => resolve()).destroy()
      }),
  }
}
