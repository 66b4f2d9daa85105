/** The package as `npm pack` makes it, installed into an empty folder: its program, the main job and commands, without tsx and esbuild. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isEngineInstalled } from '../../../infra/clickhouse/engine/engine.ts'
import { asker, type Running, runNode, temporaryFolder, untilReady } from '../../support/candlepool.ts'
import { inSoak } from '../../support/sample.ts'
import { until } from '../../support/until.ts'

type Packed = { filename: string; unpackedSize: number; files: { path: string }[] }

const ROOT = join(import.meta.dirname, '../../..')
/** As a supervisor runs it. */
const UNIT = join(ROOT, 'infra/systemd/candlepool@.service')
const PROGRAM = 'node_modules/candlepool/dist/infra/bin/candlepool.js'
const run = promisify(execFile)

describe.skipIf(!isEngineInstalled())('the package', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let packed: Packed
  let environment: Record<string, string>
  let main: Running | undefined

  async function call(...args: string[]): Promise<string> {
    const env = { ...process.env, ...environment }
    const { stdout } = await run(process.execPath, [PROGRAM, ...args], { cwd: folder.path, env })
    return stdout
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    environment = { DATA_DIR: join(folder.path, 'data'), PORT: '0', ADMIN_PORT: '0' }
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder.path], { cwd: ROOT })
    // What the build says comes before it.
    packed = JSON.parse(stdout.slice(stdout.indexOf('[\n'))).at(0)
    await writeFile(join(folder.path, 'package.json'), '{ "private": true }')
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.filename}`]
    await run('npm', install, { cwd: folder.path })
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
  })

  test('is JavaScript with source maps, no more than 4 MB of it', () => {
    const paths = packed.files.map(({ path }) => path)
    expect(packed.unpackedSize).toBeLessThan(4_000_000)
    expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'dist/infra/bin/processes/start.js.map']))
    expect(paths.filter((path) => /\.ts$|^test\/|\/README\.md$/.test(path))).toEqual([])
  })

  test('needs no compiler and no bundler', () => {
    const tools = ['tsx', 'esbuild', 'typescript', 'solc', 'lightweight-charts']
    expect(tools.filter((name) => existsSync(join(folder.path, 'node_modules', name)))).toEqual([])
  })

  test('has every command under one name, each with its help', inSoak, async () => {
    const names = [...(await call('--help')).matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name = '']) => name)
    const programs = (await readdir(join(ROOT, 'infra/bin'), { recursive: true }))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => basename(file, '.ts'))
    expect(names.toSorted()).toEqual(programs.filter((name) => name !== 'candlepool').toSorted())
    for (const name of names) {
      const help = await call(name, '--help')
      expect(help).toContain(`Usage: npx candlepool ${name}`)
      expect(help).not.toContain('npm ')
    }
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(await call('--version')).toBe(`${version}\n`)
    await expect(call('backfil')).rejects.toThrow(/There is no command backfil\.\n\nUsage: candlepool/)
  })

  test('runs the main job, and commands beside it', async () => {
    await expect(call('status')).rejects.toThrow('Nothing is stored yet: run `npx candlepool start` first')
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(await readFile(UNIT, 'utf8')) ?? []
    const [env, node, ...args] = command.replace('%i', 'start').split(' ')
    expect([env, node]).toEqual(['/usr/bin/env', 'node'])
    main = runNode(args, environment, folder.path)
    const { url, key } = await untilReady(main)
    const ask = asker(url, key)
    await until(async () => {
      const { data } = await ask<{ data: unknown[] }>('/v0/candles?symbol=WETH-USDC&interval=1m&limit=3')
      return data.length === 3 ? true : undefined
    }, 'three candles are stored')
    const page = await (await fetch(url)).text()
    const [script = ''] = /\/page\/main-[^"]+\.js/.exec(page) ?? []
    expect(await (await fetch(`${url}${script}`)).text()).toContain('lightweight-charts')
    expect(page).toContain('<code>npx candlepool start</code>')
    expect(await call('status')).toMatch(/^ethereum .* none /m)
    expect(await call('verify', '--network', 'ethereum')).toContain('everything agrees')
    expect(await main.stop('SIGTERM')).toBe(0)
  })
})
