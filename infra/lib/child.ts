/** Starts a program that never outlives this process, not even when this process is killed without warning. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

export type ChildOptions = {
  command: string
  args: readonly string[]
  /** The whole environment of the program; without it, the program gets ours. */
  env?: Record<string, string | undefined>
  cwd?: string
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void
  /** How it is asked to end: by a signal, or by closing its standard input where it reads that. */
  stopSignal: NodeJS.Signals | 'end-of-input'
  /** How long it may take to end before it is killed. */
  graceMs: number
}

export type Child = {
  pid: number
  /** Resolves, never rejects, once the program has ended and its output has been read. */
  exited: Promise<Exit>
  /** Asks the program to end, kills it after the grace, and resolves when it is gone. Safe to call twice. */
  stop(): Promise<void>
}

export type Exit = {
  code: number | null
  signal: NodeJS.Signals | null
  /** The end of its output, for error messages. */
  lastLines: readonly string[]
}

/**
 * The program waits for a word from us before it begins, so that the guard knows its process group by then;
 * where we die in between, it sees the end of its input and never begins.
 */
const LAUNCH = 'read -r go && exec "$@" </dev/null'
const LAUNCH_KEEPING_INPUT = 'read -r go && exec "$@"'

/**
 * Reads the process group, then sleeps in `read` until our end of the pipe closes, which the kernel does however we die.
 * It does not hear the signals that a service manager sends to all of us at once.
 */
const GUARD = `
trap '' TERM INT HUP
read -r group && read -r rest
[ "$rest" = ended ] && exit
[ "$1" = end-of-input ] || kill -s "$1" -- "-$group" 2>/dev/null
left=$2
while [ "$left" -gt 0 ] && kill -s 0 -- "-$group" 2>/dev/null; do sleep 0.1; left=$((left - 1)); done
kill -s KILL -- "-$group" 2>/dev/null`

const KEPT_LINES = 20

export function startChild(options: ChildOptions): Child {
  const { command, args, env, cwd, stopSignal, graceMs } = options
  const byInput = stopSignal === 'end-of-input'
  const common = { ...(env && { env }), ...(cwd && { cwd }), detached: true } as const
  const guardSignal = byInput ? stopSignal : stopSignal.replace(/^SIG/, '')
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', guardSignal, String(Math.ceil(graceMs / 100))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const launch = byInput ? LAUNCH_KEEPING_INPUT : LAUNCH
  // Its own session: the terminal's Ctrl-C reaches us alone, and we stop our children in our own order.
  const program = spawn('/bin/sh', ['-c', launch, command, command, ...args], {
    ...common,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  for (const stream of [guard.stdin, program.stdin]) stream.on('error', () => undefined)
  guard.on('error', () => undefined)
  guard.unref()
  unrefStream(guard.stdin)

  const lastLines: string[] = []
  readLines(program.stdout, 'stdout')
  readLines(program.stderr, 'stderr')
  function readLines(output: Readable, stream: 'stdout' | 'stderr') {
    createInterface({ input: output }).on('line', (line) => {
      lastLines.push(line)
      if (lastLines.length > KEPT_LINES) lastLines.shift()
      options.onLine?.(line, stream)
    })
  }

  const exited = exitOf(program).then(({ code, signal }): Exit => {
    guard.stdin.end('ended\n')
    return { code, signal, lastLines }
  })
  const { pid } = program
  if (pid === undefined) throw new Error(`can't start ${command}: there is no /bin/sh to start it with`)
  guard.stdin.write(`${pid}\n`)
  program.stdin.write('go\n')

  async function stop() {
    if (byInput) program.stdin.end()
    else signalGroup(pid, stopSignal)
    const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs)
    await exited
    clearTimeout(timer)
  }
  return { pid, exited, stop }
}

/** Output may outlast the program where something it started still holds the pipe: that is ended too, and not waited for long. */
function exitOf(program: ChildProcess): Promise<Pick<Exit, 'code' | 'signal'>> {
  return new Promise((resolve) => {
    program.once('error', () => resolve({ code: null, signal: null }))
    program.once('exit', (code, signal) => {
      signalGroup(program.pid, 'SIGKILL')
      const timer = setTimeout(done, 500)
      program.once('close', done)
      function done() {
        clearTimeout(timer)
        resolve({ code, signal })
      }
    })
  })
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals) {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Gone already.
  }
}

/** A pipe to a child is a socket underneath, and would keep this process running. */
function unrefStream(stream: Writable) {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
}
