import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { ProblemBody } from '../../body.ts'
import { NETWORKS_SERVED, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

describe.skipIf(withoutClickHouse)('the exchange of the code', () => {
  let database: TestDatabase
  let service: Service
  let now = TIP

  beforeAll(async () => {
    database = await freshDatabase()
    const clock = () => new Date(now * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  const exchange = (code: string) => service.get('/page/code', { 'X-Page-Code': code }, 'POST')
  const codeOf = (body: unknown) => ProblemBody.parse(body).code

  test('gives the key once, and no cache keeps the answer', async () => {
    const code = service.code()
    const answer = await exchange(code)
    expect([answer.status, answer.body, answer.headers.get('cache-control')]).toEqual([
      200,
      { key: service.key },
      'private, no-store',
    ])
    const again = await exchange(code)
    expect([again.status, codeOf(again.body)]).toEqual([401, 'unauthorized'])
    expect(JSON.stringify(again.body)).not.toContain(service.key)
  })

  test('gives it to no address, and to no other method', async () => {
    const code = service.code()
    for (const path of [`/page/code?code=${code}`, `/page/code#${code}`])
      expect((await service.get(path, {}, 'POST')).status).toBe(401)
    for (const method of ['GET', 'HEAD', 'PUT']) {
      const answer = await service.get('/page/code', { 'X-Page-Code': code }, method)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    }
    expect((await exchange(code)).status).toBe(200)
  })

  test('is refused to pages of other origins before they can ask', async () => {
    const asked = { Origin: 'https://elsewhere.example', 'Access-Control-Request-Method': 'POST' }
    const { headers } = await service.get('/page/code', asked, 'OPTIONS')
    expect(headers.get('access-control-allow-methods')).not.toContain('POST')
    expect(headers.get('access-control-allow-headers')?.toLowerCase()).not.toContain('x-page-code')
  })

  test('is slowed where codes are guessed, and the right one is good all the same', async () => {
    now += 60
    const code = service.code()
    const codes = []
    for (let guess = 0; guess < 22; guess++) codes.push(codeOf((await exchange(`guess ${guess}`)).body))
    expect(codes.slice(18)).toEqual(['unauthorized', 'unauthorized', 'too_many_failures', 'too_many_failures'])
    expect((await exchange(code)).status).toBe(200)
  })

  test('is known to no log line', async () => {
    const code = service.code()
    await exchange(code)
    expect(JSON.stringify(service.facts)).not.toContain(code)
  })
})
