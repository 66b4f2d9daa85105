/** The runbook's commands of backup and restore, each as it is printed, in a shell: of a recorded day, and of a devnet. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isEngineInstalled } from '../../infra/clickhouse/engine/engine.ts'
import { VARIABLES } from '../../infra/config/config.ts'
import { asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { openCheckout } from '../support/checkout.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const [, section = ''] =
  /\n## Backup and restore\n([\s\S]*?)\n## /.exec(readFileSync(join(ROOT, 'infra/docs/runbook.md'), 'utf8')) ?? []
const [REAL = [], DEVNET = [], AFTERWARDS = []] = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) =>
  text.trim().split('\n'),
)
type Health = { networks: { tip: { number: number } | null }[] }

describe.skipIf(!isEngineInstalled())('the runbook', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let checkout: typeof folder
  let main: Running | undefined

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: DAY.lastBlock - 40 })
    folder = await temporaryFolder()
    checkout = await openCheckout()
  })
  afterEach(() => main?.stop())
  afterAll(async () => {
    await folder?.remove()
    await checkout?.remove()
    await rpc?.stop()
  })

  const real = () => ({ ETHEREUM_RPC_URL: rpc.url, ETHEREUM_START: String(DAY.lastBlock - 300) })
  const places = (name: string) => ({
    DATA_DIR: join(folder.path, name),
    NEW: join(folder.path, `${name}-restored`),
  })

  async function start(environment: Record<string, string>) {
    main = run('start', { ...environment, PORT: '0' })
    const { url, key } = await untilReady(main)
    return asker(url, key)
  }

  /** In one shell, which ends at the first command that fails. */
  function shell(lines: readonly string[], environment: Record<string, string>) {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !VARIABLES.includes(name)))
    return new Promise<{ code: number; output: string }>((resolve) => {
      const env = { ...clean, ...environment, npm_config_loglevel: 'silent' }
      execFile('bash', ['--norc', '-euc', lines.join('\n')], { cwd: checkout.path, env }, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : error ? 1 : 0
        resolve({ code, output: `${stdout}${stderr}` })
      })
    })
  }
  const tipOf = async (ask: Awaited<ReturnType<typeof start>>) =>
    (await ask<Health>('/v0/health')).networks[0]?.tip?.number ?? -1

  test('saves and restores a network', async () => {
    const environment = { ...real(), ...places('real') }
    const ask = await start(environment)
    await until(async () => ((await tipOf(ask)) === DAY.lastBlock ? true : undefined), 'all is stored')
    const done = await shell(REAL, environment)
    expect(done.output).toMatch(/Saved as backups\/.*\nRestored from backups\/.*\n(Checking .*\n)*$/)
    expect(done.code).toBe(0)
    await main?.stop()
    const restored = await start({ ...environment, DATA_DIR: environment.NEW })
    await until(async () => ((await tipOf(restored)) === DAY.lastBlock ? true : undefined), 'all is stored again')
    expect(await shell(AFTERWARDS, environment)).toEqual({ code: 0, output: 'ethereum: everything agrees.\n' })
    await main?.stop()
    // The same name again, and the same place.
    expect((await shell(REAL.slice(0, 1), environment)).output).toContain('There is a backup 2026-11-21 already')
    const [restore = ''] = REAL.filter((line) => line.includes('npm run restore'))
    expect((await shell([restore], environment)).output).toContain('The tables hold something already')

    // Real rows are none of a devnet, and nothing is asked for but what the runbook says.
    const { NEW: other } = places('none')
    const empty = await shell([restore], { ...environment, NEW: other })
    expect(empty.output).toBe(`There is no backup 2026-11-21: copy it to ${other}/store/backups/2026-11-21 first.\n`)
    expect(empty.code).toBe(1)
    await expect(readdir(other)).rejects.toThrow('ENOENT')
    const bare = await shell([restore], { DATA_DIR: other, NEW: other })
    expect(bare.output).toMatch(
      / has no devnet, and no network is configured\. To restore a real network, set NETWORKS/,
    )
    expect(bare.output).not.toContain('npm start')
    expect(bare.code).toBe(1)
  })

  test('saves and restores a devnet, and never as a real network', inSoak, async () => {
    const environment = places('devnet')
    const ask = await start(environment)
    const [backup = '', ...rest] = DEVNET
    expect(await shell([backup], environment)).toMatchObject({ code: 0 })
    const tip = await tipOf(ask)
    await main?.stop()
    const done = await shell(rest, environment)
    expect(done.output).toMatch(/Restored from backups\/.*\n(Checking .*\n)*$/)
    expect(done.code).toBe(0)

    const [store = ''] = (await readdir(environment.NEW)).filter((it) => /^devnet-[0-9a-f]{8}$/.test(it))
    const foreign = { ...real(), ...places('foreign') }
    const refused = await shell(
      [
        'mkdir -p "$NEW/store/backups"',
        `cp -r "${environment.DATA_DIR}/${store}/backups/devnet-2026-11-21" "$NEW/store/backups/"`,
        'DATA_DIR="$NEW" npm run restore -- devnet-2026-11-21',
      ],
      foreign,
    )
    expect(refused.output).toContain('The backup is of a devnet, whose trades are made up')
    expect(refused.code).toBe(1)

    const again = await start({ DATA_DIR: environment.NEW })
    expect(main?.output()).not.toContain('another devnet')
    await until(async () => ((await tipOf(again)) > tip ? true : undefined), 'the chain and the tables grow')
    expect(await shell(AFTERWARDS, environment)).toEqual({ code: 0, output: 'ethereum: everything agrees.\n' })
  })
})
