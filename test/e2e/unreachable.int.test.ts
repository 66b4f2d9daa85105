/** `npm start` whose endpoint does not answer, or is of another chain: it says so where it would say that it is ready. */
import { afterEach, describe, expect, test } from 'vitest'
import { isEngineInstalled } from '../../infra/clickhouse/engine/engine.ts'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { inSoak } from '../support/sample.ts'

describe.skipIf(!isEngineInstalled())('npm start', () => {
  let main: Running | undefined
  let folder: Awaited<ReturnType<typeof temporaryFolder>> | undefined

  afterEach(async () => {
    await main?.stop()
    await folder?.remove()
  })

  async function start(environment: Record<string, string>): Promise<string> {
    folder = await temporaryFolder()
    main = run('start', { DATA_DIR: folder.path, PORT: '0', ...environment })
    const { url, key } = await untilReady(main)
    const answer = await fetch(`${url}/v0/candles?symbol=WETH-USDC&interval=1m`, { headers: { 'X-API-KEY': key } })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'nothing_stored'])
    expect(main.output()).not.toContain('Candlepool is ready')
    const health = await (await fetch(`${url}/v0/health`)).json()
    expect(health).toMatchObject({
      status: 'degraded',
      networks: [{ tip: null, reason: expect.stringMatching(/\.$/) }],
    })
    expect(JSON.stringify(health)).not.toMatch(/127\.0\.0\.1|secret-key/)
    return main.output()
  }

  test('names the networks whose endpoints do not answer, without their keys, and that they are asked again', async () => {
    const output = await start({ POLYGON_RPC_URL: 'http://127.0.0.1:9/secret-key' })
    expect(output).toContain('Candlepool runs, but it does not read polygon yet. What is stored is answered.')
    expect(output).toContain('polygon: no endpoint answers (127.0.0.1:9). It is asked again until one does.')
    expect(output).not.toContain('secret-key')
  })

  test('names what its endpoint refuses, and is ready once the endpoint serves it', async () => {
    const rpc = await startRecordedDay({ finalized: DAY.lastBlock - 40 })
    rpc.faults.lacksMethods = ['eth_getLogs']
    const output = await start({ ETHEREUM_RPC_URL: rpc.url, ETHEREUM_START: String(DAY.lastBlock - 100) })
    expect(output).toContain('Candlepool runs, but it does not read ethereum yet. What is stored is answered.')
    expect(output).toMatch(
      /ethereum: no endpoint has reported its head yet: the endpoint refuses eth_\w+ of blocks? \d+: /,
    )
    delete rpc.faults.lacksMethods
    await main?.untilPrinted(/^Candlepool is ready\. It reads ethereum\.$/m)
    await rpc.stop()
  })

  test('names the network whose endpoint is of another chain', inSoak, async () => {
    const rpc = await startRecordedDay({ finalized: 0 })
    const output = await start({ POLYGON_RPC_URL: rpc.url })
    expect(output).toContain('Candlepool runs, but it does not read polygon yet. What is stored is answered.')
    expect(output).toMatch(/polygon: its listener has halted: .*chain/)
    await rpc.stop()
  })
})
