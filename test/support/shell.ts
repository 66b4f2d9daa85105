/** A terminal as its user has it: one command after the other, variables kept, and at most one `npm start` at a time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { inputOf } from './child-input.ts'

export type Ended = {
  seconds: number
  /** Undefined of a service that runs on. */
  code: number | undefined
  /** The last HTTP status that curl said. */
  status: number | undefined
  output: string
}

export type Shell = {
  enter(folder: string): void
  /** Resolves when the command has ended; a service, when it has printed that it is ready. */
  run(command: string): Promise<Ended>
  /** Ctrl-C for the service that runs. */
  close(): Promise<void>
}

const ASSIGNMENT = /^[A-Z_]+=\S+$/
const SERVICE = /\bnpm start$/
const READY = /^ {2}Key {3}\S+$/m

export function openShell(folder: string, environment: NodeJS.ProcessEnv): Shell {
  let place = folder
  let assigned = ''
  let service: ChildProcess | undefined

  function start(command: string): { child: ChildProcess; output(): string; printed(look: () => void): void } {
    // Of a process group of its own, as a terminal has it, so that Ctrl-C reaches all of it.
    const options = { cwd: place, env: environment, detached: true } as const
    const child = spawn('bash', ['-c', `${assigned}${command}`], options)
    inputOf(child).end('SELECT 1')
    let output = ''
    const looks: (() => void)[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        for (const look of looks) look()
      })
    return { child, output: () => output, printed: (look) => looks.push(look) }
  }

  async function close(): Promise<void> {
    const running = service
    service = undefined
    if (running?.pid === undefined || running.exitCode !== null) return
    const ended = once(running, 'close')
    process.kill(-running.pid, 'SIGINT')
    await ended
  }

  return {
    enter(folder) {
      place = folder
    },
    close,
    async run(command) {
      const began = performance.now()
      if (ASSIGNMENT.test(command)) assigned += `${command}\n`
      if (SERVICE.test(command)) await close()
      const { child, output, printed } = start(command)
      const ended = once(child, 'close').then(([code]) => (code as number | null) ?? 1)
      const ready = new Promise<undefined>((resolve) => {
        if (SERVICE.test(command)) printed(() => READY.test(output()) && resolve(undefined))
      })
      const code = await Promise.race([ended, ready])
      if (code === undefined) service = child
      const status = [...output().matchAll(/HTTP (\d{3})\n/g)].at(-1)?.[1]
      return {
        seconds: (performance.now() - began) / 1_000,
        code,
        status: status === undefined ? undefined : Number(status),
        output: output(),
      }
    },
  }
}
