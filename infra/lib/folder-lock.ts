/** A lock on a folder: one process uses it at a time, and a process that was killed holds nothing. */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type FolderLock = { release(): Promise<void> }

/** Holds the claims of processes, within the locked folder. */
export const LOCKS_FOLDER = 'locks'
const ATTEMPTS = 10
const MAX_PAUSE_MS = 100

/**
 * Each process writes a claim of its own before it reads the others', so of two at once at least one sees the other, and a claim is only removed by
 * its process or after its death. Processes that see each other withdraw and retry after a random pause.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const claims = join(folder, LOCKS_FOLDER)
  await mkdir(claims, { recursive: true })
  const own = `${process.pid}-${await startOf(process.pid)}-${randomBytes(4).toString('hex')}`
  const release = () => rm(join(claims, own), { force: true })
  for (let attempt = 1; ; attempt++) {
    await writeFile(join(claims, own), '')
    const holder = await holderBeside(claims, own)
    if (holder === undefined) return { release }
    await release()
    if (attempt === ATTEMPTS) throw new FolderInUse(folder, holder)
    await sleep(Math.random() * MAX_PAUSE_MS)
  }
}

/** The id of a running process with a claim. Removes claims of dead processes. */
async function holderBeside(claims: string, own: string): Promise<number | undefined> {
  for (const name of await readdir(claims)) {
    const [, pid, start] = /^(\d+)-(\d*)-[0-9a-f]{8}$/.exec(name) ?? []
    if (name === own || pid === undefined) continue
    if (isAlive(Number(pid)) && (await startOf(Number(pid))) === start) return Number(pid)
    await rm(join(claims, name), { force: true })
  }
  return undefined
}

/** When a process began, in ticks since the machine did: a process id is given out again. Empty where there is no /proc. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The program's name is in parentheses and may hold any character.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

export class FolderInUse extends Error {
  override readonly name = 'FolderInUse'

  readonly pid: number

  constructor(folder: string, pid: number) {
    super(`the data folder ${folder} is in use by process ${pid}: stop that one, or set another DATA_DIR`)
    this.pid = pid
  }
}
