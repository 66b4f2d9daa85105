/**
 * The chain between two runs. Anvil writes `dump.json` only when it ends by a signal that it handles, also by that of the guard of a parent that was
 * killed. The next start takes the file away before it mines, so a chain is either continued exactly or replaced by a new one, never older than it was.
 */
import { createReadStream, createWriteStream, writeFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hash } from 'viem'
import { withoutTraces } from './without-traces.ts'

export type StateFolder = {
  /** The file that anvil writes when it ends. */
  dump: string
  /** The file that anvil is started with. */
  load: string
  /** The expected content of the dump; written once the chain is complete. */
  label: string
  /** File with the process id of the node that uses this folder. */
  pid: string
}

/** `plan`: it differs where another version of this program made other contracts or pools. */
export type StateLabel = {
  plan: Hash
  genesisHash: Hash
  /** Time and gas limit of the genesis block; labels of older versions have neither. */
  genesisSeconds?: number
  gasLimit?: number
}

export type SavedState = { kind: 'none' } | { kind: 'unusable'; reason: string } | { kind: 'saved'; label: StateLabel }

/** How long a node may still be writing after its parent was killed; its guard ends it within 8 s. */
const WRITING_MS = 10_000

export async function openStateFolder(dataDir: string): Promise<StateFolder> {
  const folder = join(dataDir, 'devnet')
  await mkdir(folder, { recursive: true })
  const file = (name: string) => join(folder, name)
  return {
    dump: file('dump.json'),
    load: file('load.json'),
    label: file('label.json'),
    pid: file('anvil.pid'),
  }
}

/** Makes `load` from the last dump, without call traces, which are nine tenths of it and unused. */
export async function restoreState(folder: StateFolder, plan: Hash): Promise<SavedState> {
  await untilPreviousNodeExits(folder)
  const hasDump = await exists(folder.dump)
  const hasLabel = await exists(folder.label)
  if (!hasDump && hasLabel) return { kind: 'unusable', reason: 'its node was killed before it wrote its state' }
  if (!hasDump) return { kind: 'none' }
  if (!hasLabel) return { kind: 'unusable', reason: 'its history had not been finished' }
  const label = readLabel(await readFile(folder.label, 'utf8'))
  if (label?.plan !== plan) return { kind: 'unusable', reason: 'it was written by another version of the devnet' }
  const file = createReadStream(folder.dump, { highWaterMark: 1 << 20 })
  await pipeline(file, withoutTraces, createWriteStream(folder.load))
  return { kind: 'saved', label }
}

function readLabel(text: string): StateLabel | undefined {
  try {
    return JSON.parse(text) as StateLabel
  } catch {
    return undefined
  }
}

/** Once a node has the state. The label stays: it is true of all that this node will dump. */
export async function removeDump({ dump, load }: StateFolder): Promise<void> {
  for (const file of [dump, load]) await rm(file, { force: true })
}

/** Once no node can have the state. */
export async function removeState(folder: StateFolder): Promise<void> {
  await rm(folder.label, { force: true })
  await removeDump(folder)
}

/** So that the next start can wait for a node that outlives us; written before the node can write anything. */
export function recordNodePid({ pid }: StateFolder, nodePid: number): void {
  writeFileSync(pid, String(nodePid))
}

/** From here on, a later start can take up the node's state. */
export async function writeLabel({ label }: StateFolder, content: StateLabel): Promise<void> {
  const draft = `${label}.new`
  await writeFile(draft, JSON.stringify(content))
  await rename(draft, label)
}

/** A killed predecessor leaves a node that still writes its dump. If the node's guard was killed too, the node still runs and needs a signal. */
async function untilPreviousNodeExits({ pid: pidFile, dump }: StateFolder): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''))
  if (!pid) return
  const ended = async () => {
    const deadline = Date.now() + WRITING_MS
    while (await isNodeOf(pid, dump)) {
      if (Date.now() > deadline) return false
      await sleep(50)
    }
    return true
  }
  if (!(await ended())) process.kill(pid, 'SIGTERM')
  if (!(await ended())) throw new Error(`the devnet's node of the last run, process ${pid}, does not end: stop it`)
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
