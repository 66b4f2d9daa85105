/** A process's clock that steps: `Date` of a Node process is so many ms off, by a file that it looks into. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export type Clock = {
  /** Module that the process loads first. */
  preload: string
  /** For the process. */
  environment: Readonly<Record<string, string>>
  /** Takes effect within a tenth of a second. */
  step(offsetMs: number): Promise<void>
}

export async function startClock(file: string): Promise<Clock> {
  const step = (offsetMs: number) => writeFile(file, String(offsetMs))
  await step(0)
  const preload = pathToFileURL(join(import.meta.dirname, 'stepped-clock.mjs')).href
  return { preload, environment: { STEPPED_CLOCK_FILE: file }, step }
}
