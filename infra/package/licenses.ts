/** `npm run licenses`: the packages of an installation, each with its licence. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { printLine } from '../lib/output.ts'
import { withoutArguments } from '../process/help.ts'

type Locked = { version?: string; license?: string; dev?: boolean; optional?: boolean; devOptional?: boolean }
export type Licensed = { name: string; version: string; license: string; isOptional: boolean }

/** In the page of the package, which is bundled when it is built. */
const IN_PAGE = ['node_modules/lightweight-charts', 'node_modules/fancy-canvas']

/** By name, without packages for development. */
export async function readLicenses(root: string): Promise<Licensed[]> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && (!dev || IN_PAGE.includes(path)))
  const all = await Promise.all(
    shipped.map(async ([path, { version = '', license, optional, devOptional }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license: license ?? (await licenseIn(join(root, path))) ?? 'not stated',
      isOptional: Boolean(optional || devOptional),
    })),
  )
  return all.sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Older packages name theirs in a list. */
async function licenseIn(folder: string): Promise<string | undefined> {
  try {
    const { license, licenses } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    return license ?? licenses?.map(({ type }: { type: string }) => type).join(' OR ')
  } catch {
    return undefined
  }
}

if (import.meta.filename === process.argv[1]) {
  withoutArguments({
    does: 'Lists what comes with an installation, and under which licence each of it may be used.',
    usage: ['npm run licenses'],
    examples: ['npm run -s licenses'],
  })
  const all = await readLicenses(join(import.meta.dirname, '../..'))
  for (const { name, version, license, isOptional } of all)
    printLine(`${license.padEnd(22)} ${name}@${version}${isOptional ? ' (optional)' : ''}`)
}
