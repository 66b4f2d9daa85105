/** The Model Context Protocol over HTTP, as the client of its own SDK uses it: the same tools, limits and credits as the API. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey, listKeys, revokeKey } from '../../../api/accounts/keys.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

type Told = { note: string; headers: Record<string, string>; body: Record<string, unknown> }

describe.skipIf(withoutClickHouse)('MCP over HTTP', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const clock = () => new Date((TIP + 10) * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function connect(key?: string): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' })
    const headers: Record<string, string> = key === undefined ? {} : { 'X-API-KEY': key }
    const url = new URL(`${service.url}/v0/mcp`)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    return client
  }

  async function call(client: Client, name: string, values: Record<string, unknown>) {
    const { content, isError } = await client.callTool({ name, arguments: values })
    const [{ text }] = content as [{ text: string }]
    return { isError: isError === true, ...(JSON.parse(text) as Told) }
  }

  const post = (body: string, headers: Record<string, string> = { 'X-API-KEY': service.key }) =>
    fetch(`${service.url}/v0/mcp`, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    })
  const listing = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

  test('a tool answers as its address does, and says that names are unverified', async () => {
    const client = await connect(service.key)
    const { tools } = await client.listTools()
    expect(tools.map(({ name, annotations }) => [name, annotations?.openWorldHint])).toEqual(
      ['candles', 'ticks', 'pools', 'usage'].map((name) => [name, true]),
    )
    const answer = await call(client, 'candles', { symbol: 'WETH-USDC', interval: '1m', limit: 3 })
    const { body } = await service.get('/v0/candles?symbol=WETH-USDC&interval=1m&limit=3')
    expect(answer).toMatchObject({ isError: false, body, headers: { 'x-market-pool': POOLS.main.id } })
    expect(answer.note).toContain('not verified')
    expect(await call(client, 'candles', { symbol: 'WETHUSDC', interval: '1m' })).toMatchObject({
      isError: true,
      body: { code: 'invalid_parameters', message: expect.stringContaining('WETH-USDC') },
    })
    await client.close()
  })

  test('a call is counted once, and listing the tools costs nothing', async () => {
    const key = await createKey({ client: database.client, plan: 'free', name: 'counted' })
    const client = await connect(key)
    await client.listTools()
    await call(client, 'ticks', { pool: POOLS.main.id, limit: 1 })
    const { body } = await call(client, 'usage', {})
    expect(body).toMatchObject({ credits: { minute: { used: 1 } }, api_calls: { minute: { used: 2 } } })
    await client.close()
  })

  test('beyond its plan a key is refused, with the time to wait', async () => {
    const key = await createKey({ client: database.client, plan: 'free', name: 'busy' })
    const client = await connect(key)
    const answers: Awaited<ReturnType<typeof call>>[] = []
    while (answers.length < 61) answers.push(await call(client, 'ticks', { pool: POOLS.main.id, limit: 1 }))
    expect(answers.slice(0, 60).every(({ isError }) => !isError)).toBe(true)
    expect(answers[60]).toMatchObject({ isError: true, body: { code: 'minute_credits_exceeded' } })
    expect(Number(answers[60]?.headers['retry-after'])).toBeGreaterThan(0)
    await client.close()
  })

  test('without a key, and with one that is not known or revoked, nothing is answered', async () => {
    await expect(connect()).rejects.toThrow(/X-API-KEY is missing/)
    await expect(connect('cp_unknown')).rejects.toThrow(/not known/)
    const key = await createKey({ client: database.client, plan: 'free', name: 'revoked' })
    await (await connect(key)).close()
    const made = (await listKeys(database.client)).find(({ name }) => name === 'revoked')
    await revokeKey({ client: database.client, id: made?.id ?? '' })
    await expect.poll(() => connect(key).then(() => 'answered', String)).toContain('not known')
  })

  test('a body without a key is not read', async () => {
    const answer = await post('x'.repeat(10_000_000), {}).catch(() => undefined)
    if (answer) expect(answer.status).toBe(401)
    expect((await post('{', {})).status).toBe(401)
  })

  test.each([
    ['no JSON', '{', /no JSON/],
    ['a list of messages, of which each may cost as much as a request', `[${listing},${listing}]`, /one message/],
    ['a text', '"tools/list"', /no JSON|one message/],
    ['longer than a message', `"${'x'.repeat(70_000)}"`, /longer than 64kb/],
  ])('a body that is %s is refused', async (_, body, reason) => {
    const answer = await post(body)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ code: 'bad_request', message: expect.stringMatching(reason) })
  })

  test('other methods are refused: there is no session to listen to or to end', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(`${service.url}/v0/mcp`, { method, headers: { 'X-API-KEY': service.key } })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    }
  })

  test('texts for models need no key, and name what is there', async () => {
    const llms = await fetch(`${service.url}/llms.txt`)
    expect([llms.status, llms.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    const links = [...(await llms.text()).matchAll(/\]\((\/[^)]*)\)/g)].map(([, link]) => link)
    expect(links.length).toBeGreaterThan(4)
    for (const link of links) expect((await fetch(`${service.url}${link}`)).status, link).toBe(200)
    const skill = await (await fetch(`${service.url}/v0/skill.md`)).text()
    expect(skill).toMatch(/^---\nname: candlepool\ndescription: .{50,1024}\n---\n/)
  })
})
