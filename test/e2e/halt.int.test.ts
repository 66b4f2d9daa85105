/** A halted network of a process: it halts alone, is reported everywhere, and resumes after `npm run rewind`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { freePorts } from '../support/free-ports.ts'
import { DAY, madeUpHash } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { dayReplacedFrom } from '../support/replaced-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'

const FINAL = DAY.lastBlock - 60
const FROM = FINAL - 200
const FORK = FINAL - 40

type Health = {
  status: string
  networks: { network: string; tip: { number: number } | null; halted: { stages: string[]; since: string } | null }[]
}

describe.skipIf(withoutClickHouse)('of two networks in one process', () => {
  let replaced: RpcServer
  let other: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running | undefined
  let adminPort: number

  beforeAll(async () => {
    const day = recordedDayChain({ finalized: FINAL })
    replaced = await startRpcServer({ ...day, head: FINAL + 20 })
    other = await startRpcServer({ ...day, head: FINAL + 20, chainId: NETWORKS.polygon.chainId })
    // So that history is stored in several ranges, each of which can be gone back to.
    for (const node of [replaced, other]) node.faults.maxBlocks = 30
    folder = await temporaryFolder()
    ;[adminPort] = (await freePorts(1)) as [number]
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
    await Promise.all([replaced, other].map((node) => node?.stop()))
  })

  const environment = (): Record<string, string> => ({
    ETHEREUM_RPC_URL: replaced.url,
    ETHEREUM_START: String(FROM),
    POLYGON_RPC_URL: other.url,
    POLYGON_START: String(FROM),
    DATA_DIR: folder.path,
    PORT: '0',
    ADMIN_PORT: String(adminPort),
  })

  async function start(more: Record<string, string> = {}) {
    main = run('start', { ...environment(), ...more })
    const { url, key } = await untilReady(main)
    const health = () => asker(url, key)<Health>('/v0/health')
    const of = async (name: string) => (await health()).networks.find(({ network }) => network === name)
    const untilTip = (name: string, block: number) =>
      until(async () => ((await of(name))?.tip?.number === block ? true : undefined), `${name} is at ${block}`)
    const admin = async (path: string) => (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text()
    return { main, health, of, untilTip, admin }
  }

  async function expectHalted({ health, of, untilTip, admin }: Awaited<ReturnType<typeof start>>, says: RegExp) {
    await until(async () => ((await of('ethereum'))?.halted ? true : undefined), 'ethereum is halted')
    other.chain.head += 1
    await untilTip('polygon', other.chain.head)
    expect(await health()).toMatchObject({ status: 'degraded' })
    expect(await of('ethereum')).toMatchObject({ halted: { stages: ['listener'], since: expect.any(String) } })
    expect((await of('polygon'))?.halted).toBeNull()
    // After a restart the stored halt is reported before the listener has read the chain.
    const isReason = async () => {
      const { status, reasons } = JSON.parse(await admin('/health/ready')) as { status: string; reasons?: string[] }
      return (status === 'not ready' && reasons?.some((reason) => says.test(reason))) || undefined
    }
    await until(isReason, `/health/ready has ${says}`)
    const metrics = await admin('/metrics')
    expect(metrics).toContain('candlepool_stage_halted{stage="listener",network="ethereum"} 1')
    expect(metrics).toContain('candlepool_stage_halted{stage="listener",network="polygon"} 0')
    const status = run('status', environment())
    expect(await status.exited).toBe(0)
    expect(status.output()).toMatch(/ethereum: its listener has halted since 20\S+Z: /)
    expect(status.output()).not.toMatch(/polygon: its/)
  }

  test('the one whose final blocks were replaced halts alone, also after a restart', inSoak, async () => {
    const first = await start()
    for (const name of ['ethereum', 'polygon']) await first.untilTip(name, FINAL + 20)
    replaced.chain.logs = dayReplacedFrom(FORK, 1)
    replaced.chain.head = FINAL + 21
    const says =
      /^ethereum: its listener has halted: The ethereum chain was replaced below its finality.* go back to block (\d+), .* --to \1$/
    await expectHalted(first, says)
    expect(await first.main.stop()).toBe(0)
    const second = await start()
    await expectHalted(second, says)
    expect(await second.main.stop()).toBe(0)
  })

  test('is taken up again by a rewind beside it', inSoak, async () => {
    const second = await start()
    await until(async () => ((await second.of('ethereum'))?.halted ? true : undefined), 'ethereum is halted')
    const rewind = async (...args: string[]) => {
      const command = run('rewind', environment(), args)
      return { code: await command.exited, said: command.output() }
    }
    const ethereum = ['--network', 'ethereum', '--to']
    expect(await rewind(...ethereum, String(FINAL + 99), '--yes')).toEqual({
      code: 1,
      said: expect.stringContaining(`--to ${FINAL + 99} is above the stored tip of ethereum, block ${FINAL + 20}.`),
    })
    expect(await rewind(...ethereum, '5', '--yes')).toEqual({
      code: 1,
      said: expect.stringContaining('--to 5 is below the first stored block of ethereum'),
    })
    expect(await rewind('--network', 'mars', '--to', 'x', '--yes')).toEqual({
      code: 1,
      said: expect.stringMatching(/--network is none of [\s\S]*--to is not a block number\nUsage: npm run rewind/),
    })
    expect(await rewind(...ethereum, String(FINAL))).toEqual({
      code: 1,
      said: expect.stringMatching(/go back further/),
    })
    const wanted = String(FORK - 1)
    expect((await rewind(...ethereum, wanted)).said).toMatch(/Nothing was changed: there is no terminal to ask at/)
    expect((await second.of('ethereum'))?.tip).toMatchObject({ number: FINAL + 20 })
    const done = await rewind(...ethereum, wanted, '--yes')
    expect(done).toEqual({ code: 0, said: expect.stringMatching(/Block \d+ is the tip of ethereum now/) })
    replaced.chain.head = FINAL + 22
    await second.untilTip('ethereum', FINAL + 22)
    await until(async () => (await second.of('ethereum'))?.halted === null || undefined, 'it is well again')
    expect(await second.of('ethereum')).toMatchObject({
      tip: { hash: madeUpHash(FINAL + 22, 1) },
      halted: null,
    })
    expect(await second.admin('/metrics')).toContain('candlepool_stage_halted{stage="listener",network="ethereum"} 0')
    const verified = run('verify', environment(), ['--network', 'ethereum'])
    expect(await verified.exited).toBe(0)
    expect(await second.main.stop()).toBe(0)
  })

  test('the one whose endpoint is of another chain halts alone', async () => {
    const started = await start({ ETHEREUM_RPC_URL: other.url })
    await expectHalted(started, /^ethereum: its listener has halted: ETHEREUM_RPC_URL answers as chain 137/)
    expect(await started.main.stop()).toBe(0)
  })
})
