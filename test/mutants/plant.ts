/** Planted faults: a suite that should notice one has to fail with it. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type PlantedFault = {
  name: string
  file: string
  /** Stands once in the file. */
  from: string
  to: string
}

/** A fault, and the test files of which at least one should fail with it. */
export type Mutant = PlantedFault & { suites: readonly string[] }

/** Faults of one file that the same suites should notice: name, text, and what stands in its place. */
export function faultsIn(
  file: string,
  suites: readonly string[],
  faults: readonly (readonly [name: string, from: string, to: string])[],
): readonly Mutant[] {
  return faults.map(([name, from, to]) => ({ name, file, from, to, suites }))
}

const ROOT = join(import.meta.dirname, '../..')
export const SOURCE_FOLDERS = ['ingest', 'aggregator', 'api', 'infra'] as const
const FILES = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  '.github',
  '.gitignore',
]

/** The file with the fault in it. Throws unless the text to change stands in it once. */
export async function mutated({ name, file, from, to }: PlantedFault): Promise<string> {
  const text = await readFile(join(ROOT, file), 'utf8')
  if (text.split(from).length !== 2) throw new Error(`${name}: ${file} has the text to change not once.`)
  // A function: `$` in a replacement text has a meaning.
  return text.replace(from, () => to)
}

export type Copy = {
  root: string
  plant(fault: PlantedFault): Promise<void>
  /** Takes the fault out again. */
  restore(fault: PlantedFault): Promise<void>
  remove(): Promise<void>
}

/** A copy of the sources; `folders` beside them. */
export async function copySources(folders: readonly string[] = []): Promise<Copy> {
  const root = await mkdtemp(join(tmpdir(), 'candlepool-mutant-'))
  const parts = [...SOURCE_FOLDERS, ...FILES, ...folders]
  await Promise.all(parts.map((part) => cp(join(ROOT, part), join(root, part), { recursive: true })))
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  // Some suites list the files of the repository.
  await promisify(execFile)('git', ['init', '--quiet'], { cwd: root })
  return {
    root,
    plant: async (fault) => writeFile(join(root, fault.file), await mutated(fault)),
    restore: async ({ file }) => cp(join(ROOT, file), join(root, file)),
    remove: () => rm(root, { recursive: true, force: true }),
  }
}
