/** A Python of a test's own, with packages of PyPI. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** `bin`: the folder of `python` and of the packages' commands. */
export type Venv = { bin: string; remove(): Promise<void> }

/** A package has its version: `name==1.2.3`. Says why where Python or PyPI is not there. */
export async function openVenv(packages: readonly string[]): Promise<Venv | { unavailable: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-python-'))
  const bin = join(folder, 'bin')
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await execute('python3', ['-m', 'venv', folder])
    await execute(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages])
    return { bin, remove }
  } catch (error) {
    await remove()
    return { unavailable: `no ${packages.join(', ')}: ${String(error).split('\n')[0]}` }
  }
}
