import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, vi } from 'vitest'
import { startChild } from '../../../infra/lib/child.ts'

const DEAF = ['-c', 'trap "" TERM; while :; do sleep 0.1; done'] as const

describe('startChild', () => {
  it('hands on what the program says and how it ended', async () => {
    const lines: string[] = []
    const child = startChild({
      command: 'sh',
      args: ['-c', 'echo one; echo two >&2; exit 3'],
      stopSignal: 'SIGTERM',
      graceMs: 500,
      onLine: (line, stream) => lines.push(`${stream}: ${line}`),
    })
    expect(await child.exited).toMatchObject({ code: 3, signal: null })
    expect(lines.sort()).toEqual(['stderr: two', 'stdout: one'])
    await child.stop()
  })

  it('passes arguments and the environment as they are', async () => {
    const args = ['-c', 'printf "%s|" "$@"; echo "$COLOUR"', 'sh', 'a b', "it's", '$HOME', '']
    const env = { COLOUR: 'red; echo blue', PATH: '/usr/bin:/bin' }
    const child = startChild({ command: '/bin/sh', args, env, stopSignal: 'SIGTERM', graceMs: 500 })
    expect((await child.exited).lastLines).toEqual(["a b|it's|$HOME||red; echo blue"])
  })

  it('ends a program that reads its input by ending that', async () => {
    const child = startChild({ command: 'sh', args: ['-c', 'cat; echo bye'], stopSignal: 'end-of-input', graceMs: 500 })
    await child.stop()
    expect(await child.exited).toEqual({ code: 0, signal: null, lastLines: ['bye'] })
  })

  it('kills a program that does not listen, once the grace is over', async () => {
    const child = startChild({ command: 'sh', args: DEAF, stopSignal: 'SIGTERM', graceMs: 300 })
    await new Promise((resolve) => setTimeout(resolve, 200))
    await child.stop()
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' })
  })

  it('says that there is no such program', async () => {
    const child = startChild({ command: 'no-such-program', args: [], stopSignal: 'SIGTERM', graceMs: 500 })
    const { code, lastLines } = await child.exited
    expect(code).toBe(127)
    expect(lastLines.join()).toContain('not found')
  })

  it.each([
    ['that ends on a signal', 'SIGTERM', 'sleep', ['60']],
    ['that ends with its input', 'end-of-input', 'cat', []],
    ['that listens to neither', 'SIGTERM', 'sh', DEAF],
  ])('ends a program %s when its parent is killed', async (_, stopSignal, command, args) => {
    const script = join(import.meta.dirname, 'child-owner.ts')
    const owner = spawn(process.execPath, ['--import', 'tsx', script, stopSignal, command, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const pid = Number(await firstLine(owner.stdout))
    expect(isRunning(pid)).toBe(true)
    owner.kill('SIGKILL')
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 60_000)
  })
})

async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input })) return line
  throw new Error('the process ended before it said anything')
}

/** A zombie process still has a pid. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
