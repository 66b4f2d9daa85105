/** The MCP server as a client of its own SDK uses it: a process over standard input and output, beside a running service. */
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../api/scenario.ts'
import { type Service, startService } from '../../api/service.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

const SCRIPT = join(import.meta.dirname, '../../../infra/bin/mcp.ts')

async function connect(env: Record<string, string>) {
  const path = process.env['PATH'] ?? ''
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', 'tsx', SCRIPT],
    env: { PATH: path, ...env },
    stderr: 'pipe',
  })
  let complaint = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    complaint += String(chunk)
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport).catch((error: unknown) => {
    throw new Error(complaint, { cause: error })
  })
  return client
}

describe.skipIf(withoutClickHouse)('the MCP server', () => {
  let database: TestDatabase
  let service: Service
  let client: Client

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const clock = () => new Date((TIP + 10) * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
    client = await connect({ API_URL: service.url, API_KEY: service.key })
  })
  afterAll(async () => {
    await client?.close()
    await service?.stop()
    await database?.drop()
  })

  async function call(name: string, values: Record<string, unknown>) {
    const { content, isError } = await client.callTool({ name, arguments: values })
    const [{ text }] = content as [{ text: string }]
    return { isError: isError === true, text }
  }
  const told = (text: string) => JSON.parse(text) as { headers: Record<string, string>; body: Record<string, unknown> }

  test('lists the four operations with their parameters', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['candles', 'ticks', 'pools', 'usage'])
    const [candles] = tools
    expect(candles?.inputSchema).toMatchObject({ required: ['interval'] })
    expect(Object.keys(candles?.inputSchema.properties ?? {})).toEqual([
      'symbol',
      'pool',
      'interval',
      'from',
      'to',
      'limit',
      'networks',
      'price',
      'fill',
      'include',
    ])
  })

  test('a tool answers as the address does, with the pool that answered', async () => {
    const { isError, text } = await call('candles', { symbol: 'WETH-USDC', interval: '1m', limit: 3 })
    const { body } = await service.get('/v0/candles?symbol=WETH-USDC&interval=1m&limit=3')
    expect(isError).toBe(false)
    expect(told(text).body).toEqual(body)
    expect(told(text).headers).toMatchObject({ 'x-market-pool': POOLS.main.id, 'x-market-pair': 'WETH-USDC' })
    for (const [name, values] of [
      ['ticks', { pool: POOLS.main.id, limit: 2, include: 'position' }],
      ['pools', { symbol: 'WETH-USDC', include: 'market' }],
      ['usage', {}],
    ] as const)
      expect((await call(name, values)).isError, name).toBe(false)
  })

  test('null and an empty text are parameters that are not set', async () => {
    const values = {
      symbol: 'WETH-USDC',
      interval: '1m',
      limit: 3,
      pool: null,
      from: '',
      to: null,
      networks: '',
      price: '',
    }
    const { isError, text } = await call('candles', values)
    const { body } = await service.get('/v0/candles?symbol=WETH-USDC&interval=1m&limit=3')
    expect(isError).toBe(false)
    expect(told(text).body).toEqual(body)
    expect(told((await call('candles', { symbol: 'WETH-USDC', interval: null })).text).body).toMatchObject({
      code: 'invalid_parameters',
    })
  })

  test('an error has the reason of the service', async () => {
    const { isError, text } = await call('candles', { symbol: 'WETH', interval: '2d' })
    expect(isError).toBe(true)
    expect(told(text).body).toMatchObject({ code: 'invalid_parameters' })
    expect(await call('orders', {})).toMatchObject({ isError: true, text: expect.stringContaining('candles, ticks') })
  })

  test('a service that is away is named, without the key', async () => {
    const alone = await connect({ API_URL: 'http://127.0.0.1:9', API_KEY: service.key })
    const { content, isError } = await alone.callTool({ name: 'usage', arguments: {} })
    await alone.close()
    expect(isError).toBe(true)
    expect(JSON.stringify(content)).toContain('The service does not answer')
    expect(JSON.stringify(content)).not.toContain(service.key)
  })

  test('a missing key is said before anything is served', async () => {
    await expect(connect({ API_URL: service.url })).rejects.toThrow('API_KEY is missing')
  })
})
