/** `npm run rewind` beside one `npm start`: the listener reads the removed blocks again by itself, and no part reports a stall. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { until } from '../support/until.ts'

type Health = { networks: { tip: { number: number } | null }[] }

describe.skipIf(withoutClickHouse || process.env['CLICKHOUSE_URL'] !== undefined)('a rewind', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  let url: string
  let key: string

  beforeAll(async () => {
    folder = await temporaryFolder()
    await start()
  })
  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
  })

  async function start(): Promise<void> {
    main = run('start', { DATA_DIR: folder.path, PORT: '0' })
    ;({ url, key } = await untilReady(main))
  }
  async function storedTip(): Promise<number> {
    const { networks } = await asker(url, key)<Health>('/v0/health')
    return networks[0]?.tip?.number ?? 0
  }
  const untilTip = (number: number) =>
    until(async () => ((await storedTip()) >= number ? true : undefined), `block ${number} is stored`)

  test('removes blocks that the listener appends again at once, also those of an earlier start', async () => {
    const to = (await storedTip()) + 2
    await untilTip(to + 2)
    await main.stop()
    await start()
    await untilTip(to + 6)
    const tip = await storedTip()
    const command = run('rewind', { DATA_DIR: folder.path }, ['--network', 'ethereum', '--to', `${to}`, '--yes'])
    expect([await command.exited, command.output()]).toEqual([0, expect.stringContaining('resumes from there')])
    await untilTip(tip + 3)
    expect(main.output()).not.toMatch(/does not connect to the stored tip|were not stored/)
    const verified = run('verify', { DATA_DIR: folder.path }, ['--network', 'ethereum'])
    expect(await verified.exited).toBe(0)
  })
})
