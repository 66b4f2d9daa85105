/** Installed packages: each has an integrity hash, and no licence asks for more than a notice. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readLicenses } from '../../infra/package/licenses.ts'

const ROOT = join(import.meta.dirname, '../..')
const UNHASHED = ['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu'].map((it) => `@chdb/lib-${it}`)
const FREE = ['MIT', 'Apache-2.0', 'ISC', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'MIT OR Apache-2.0']

/** The trie of receipts. The MPL asks to publish changes of its own files, which are used as they are. */
const UNCHANGED = ['@ethereumjs/mpt', '@ethereumjs/rlp', '@ethereumjs/util']

test('packages of a deployment have licences that ask for no more than a notice, but for the trie', async () => {
  const shipped = (await readLicenses(ROOT)).filter(({ isOptional }) => !isOptional)
  expect(shipped.length).toBeGreaterThan(100)
  const others = shipped.filter(({ license }) => !FREE.includes(license))
  expect(others.map(({ name, license }) => `${name} ${license}`)).toEqual(UNCHANGED.map((name) => `${name} MPL-2.0`))
})

test('optional packages with other licences are contracts of the devnet and its tools', async () => {
  const optional = (await readLicenses(ROOT)).filter(({ isOptional }) => isOptional)
  const others = optional.filter(({ license }) => !FREE.includes(license)).map(({ name }) => name)
  expect(others.filter((name) => !name.startsWith('@uniswap/'))).toEqual([])
})

test('every package that is installed here is in the lock file with a hash, and from no particular host', async () => {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  const shipped = Object.entries<Record<string, unknown>>(lock.packages).filter(
    ([path, { optional, dev, devOptional }]) => path !== '' && !optional && !dev && !devOptional,
  )
  expect(shipped.filter(([, { integrity }]) => !String(integrity).startsWith('sha512-'))).toEqual([])
  expect(shipped.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})

test('an entry of the lock file without a hash is an optional package of another platform', async () => {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  const unhashed = Object.entries<Record<string, unknown>>(lock.packages).filter(
    ([path, { integrity, link }]) => path !== '' && !link && integrity === undefined,
  )
  expect(unhashed.filter(([, { optional, os, cpu }]) => !optional || !os || !cpu)).toEqual([])
  // The registry of this lock file had none of them. The list only shrinks.
  expect(unhashed.map(([path]) => path.replace(/^node_modules\//, ''))).toEqual(UNHASHED)
})

test('npm run sbom lists the packages of a deployment', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    maxBuffer: 64 * 2 ** 20,
  })
  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: { name: string }[] }
  expect(bomFormat).toBe('CycloneDX')
  const names = components.map(({ name }) => name)
  expect(names).toContain('viem')
  expect(names).not.toContain('vitest')
})
