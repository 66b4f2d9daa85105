/** One round of questions from many connections, asked by a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { inputOf } from '../support/child-input.ts'
import type { Load, Loaded } from './load-process.ts'

export async function loadFrom(load: Load): Promise<Loaded> {
  const script = join(import.meta.dirname, 'load-process.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  inputOf(child).end(JSON.stringify(load))
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`The load process ended with ${code}.`)
  return JSON.parse(printed)
}
