/** Starts aggregator and API over a log to which made-up blocks are appended. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inputOf } from '../support/child-input.ts'
import type { Shape } from './synthetic.ts'

export const KEY = 'the-key-of-the-bench-of-the-pipeline'
const DAY = 86_400
const TODAY = Math.floor(Date.now() / 1_000 / DAY) * DAY

/** The appended ticks; the stored ones before them end with yesterday. */
export function shapeOf(days: number): Shape {
  return { network: 'polygon', swapsPerBlock: 20, pools: 400, firstTime: TODAY - days * DAY }
}

export type PipelineProcess = {
  pid: number
  url: string
  /** Resolves with the moment just before, in ms of `now`. */
  append(number: number): Promise<number>
  /** When the ledger had each block, in ms of `now`. */
  stored: ReadonlyMap<number, number>
  stop(): Promise<void>
}

/** `publish`: as the variable `PUBLISH`. */
export async function startPipelineProcess(
  folder: string,
  brokers: readonly string[] = [],
  publish = '',
): Promise<PipelineProcess> {
  const args = ['--import', 'tsx', join(import.meta.dirname, 'e2e-process.ts'), folder, KEY, brokers.join(',')]
  const env = { ...process.env, PUBLISH: publish }
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
  const input = inputOf(child)
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)
  const [url] = (await once(lines, 'line')) as [string]
  const stored = new Map<number, number>()
  const appended = new Map<number, (at: number) => void>()
  lines.on('line', (line) => {
    const [what, number, nanoseconds] = line.split(' ')
    const at = Number(nanoseconds) / 1e6
    if (what === 'stored') stored.set(Number(number), at)
    else appended.get(Number(number))?.(at)
  })
  return {
    pid: child.pid ?? 0,
    url,
    stored,
    append(number) {
      return new Promise((resolve) => {
        appended.set(number, resolve)
        input.write(`${number}\n`)
      })
    },
    async stop() {
      input.end()
      await ended
    },
  }
}
