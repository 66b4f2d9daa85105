/** Jars that Maven fetches once for this machine, for tests that need a program in Java. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const MAVEN_TIMEOUT_MS = 180_000

/** The folder of the jars that the pom names. */
export function fetchedJars(name: string, pom: string, properties: readonly string[] = []): Promise<string> {
  const goal = ['-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime', ...properties]
  return fetched(name, (folder) => [...goal, `-DoutputDirectory=${folder}`])
}

/** The folder that a goal of Maven fills. Made aside and moved into place, so that two runs at once don't see half of it. */
export async function fetched(name: string, goal: (folder: string) => readonly string[]): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'candlepool')
  const folder = join(cache, name)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const aside = await mkdtemp(join(cache, 'fetching-'))
  try {
    await run('mvn', ['-q', '-B', ...goal(aside)], { timeout: MAVEN_TIMEOUT_MS })
    await rename(aside, folder)
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    // Another run was quicker.
    if (existsSync(folder)) return folder
    throw new Error(`Maven could not fetch ${name}: ${firstLine(error)}`)
  }
  return folder
}

/** Rejects with one line that says what is missing. */
export async function javaAtLeast(wanted: number): Promise<void> {
  const { stderr } = await run('java', ['-version']).catch((error: unknown) => {
    throw new Error(`no Java (${firstLine(error)})`)
  })
  const version = Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0)
  if (version < wanted) throw new Error(`Java ${wanted} or newer is needed, this is ${version}`)
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}
