/**
 * The chain between two runs. Anvil writes `dump.json` when it is stopped, also by the guard of a parent that was killed;
 * the next start takes the file away, so a chain is either continued exactly or begun anew, never older than it was.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hash } from 'viem'
import { withoutTraces } from './without-traces.ts'

export type StateFolder = {
  /** What anvil writes when it ends. */
  dump: string
  /** What anvil is started with. */
  load: string
  /** What the dump should hold; written when the chain is whole. */
  label: string
  /** Of the node that owns this folder. */
  pid: string
}

/** `plan` tells contracts and pools of another version of this program. */
export type StateLabel = { plan: Hash; genesisHash: Hash }

export type SavedState = { kind: 'none' } | { kind: 'unusable'; reason: string } | { kind: 'saved'; label: StateLabel }

/** How long a node may still be writing after its parent was killed. */
const WRITING_MS = 10_000

export async function openStateFolder(dataDir: string): Promise<StateFolder> {
  const folder = join(dataDir, 'devnet')
  await mkdir(folder, { recursive: true })
  const file = (name: string) => join(folder, name)
  return { dump: file('dump.json'), load: file('load.json'), label: file('label.json'), pid: file('anvil.pid') }
}

/** Makes `load` from the last dump, without the call traces that nobody asks for: they are nine tenths of it. */
export async function takeState(folder: StateFolder, plan: Hash): Promise<SavedState> {
  await oldNodeEnded(folder)
  if (!(await exists(folder.dump))) return { kind: 'none' }
  if (!(await exists(folder.label))) return { kind: 'unusable', reason: 'its history had not been finished' }
  try {
    const label = JSON.parse(await readFile(folder.label, 'utf8')) as StateLabel
    if (label.plan !== plan) return { kind: 'unusable', reason: 'it was written by another version of the devnet' }
    const file = createReadStream(folder.dump, { highWaterMark: 1 << 20 })
    await pipeline(file, withoutTraces, createWriteStream(folder.load))
    return { kind: 'saved', label }
  } catch (error) {
    return { kind: 'unusable', reason: error instanceof Error ? error.message : String(error) }
  }
}

/** Once a node has the state, or none can have it. */
export async function removeState({ dump, load, label }: StateFolder): Promise<void> {
  for (const file of [dump, load, label]) await rm(file, { force: true })
}

/** So that the next start can wait for a node that outlives us. */
export async function ownState({ pid }: StateFolder, nodePid: number): Promise<void> {
  await writeFile(pid, String(nodePid))
}

/** From here on, what the node leaves behind can be taken up. */
export async function labelState({ label }: StateFolder, content: StateLabel): Promise<void> {
  await writeFile(label, JSON.stringify(content))
}

/** Where our predecessor was killed, its node is still writing the dump. */
async function oldNodeEnded({ pid: pidFile, dump }: StateFolder): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''))
  if (!pid) return
  const deadline = Date.now() + WRITING_MS
  while (Date.now() < deadline && (await isNodeOf(pid, dump))) await sleep(50)
  await rm(pidFile, { force: true })
}

/** A pid may have been given to another program since. */
async function isNodeOf(pid: number, dump: string): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => dump)
  return command.includes(dump)
}

async function exists(file: string): Promise<boolean> {
  return await stat(file).then(
    () => true,
    () => false,
  )
}
