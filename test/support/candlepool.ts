/** The product as its users run it: a process started by its entry point, spoken to over HTTP and signals. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { VARIABLES } from '../../infra/config/config.ts'
import { WAIT_MS } from './until.ts'

export type Running = {
  pid: number
  /** Everything printed so far. */
  output(): string
  /** Resolves with what was printed once `pattern` is in it; rejects where the process ends first. */
  untilPrinted(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves with the exit code, null where a signal ended it. */
  exited: Promise<number | null>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export type Script =
  | 'backfill'
  | 'migrate'
  | 'start'
  | 'ingest'
  | 'aggregate'
  | 'api'
  | 'keys'
  | 'status'
  | 'verify'
  | 'prove'
  | 'rebuild'
  | 'rewind'
  | 'backup'
  | 'restore'
  | 'sql'

const ROOT = join(import.meta.dirname, '../..')

/**
 * `fromSource`: as `npm run` starts it, which takes a process two seconds longer; else from `entries.ts` where that has been built. `root`: where other
 * sources are.
 */
export function run(
  script: Script,
  environment: Record<string, string>,
  args: readonly string[] = [],
  { fromSource = false, root }: { fromSource?: boolean; root?: string | undefined } = {},
): Running {
  const entry = fromSource || root ? sourceOf(script) : entryOf(script)
  return runNode([...entry, ...args], environment, root ?? ROOT)
}

/** Arguments of Node that start a program of `infra/bin`: what `entries.ts` has built of it, else its source. */
export function entryOf(program: string): readonly string[] {
  const entries = process.env['TEST_ENTRIES']
  return entries ? [join(entries, `${program}.mjs`)] : sourceOf(program)
}

function sourceOf(program: string): readonly string[] {
  const folder = ['start', 'ingest', 'aggregate', 'api'].includes(program) ? 'infra/bin/processes' : 'infra/bin'
  return ['--import', 'tsx', `${folder}/${program}.ts`]
}

/** Nodes over recordings make up their headers; a test over another node says that it requires their proof. */
function headersOf(environment: Record<string, string>): Record<string, string> {
  return Object.keys(environment).some((name) => name.endsWith('_RPC_URL')) ? { HEADER_PROOF: 'off' } : {}
}

/** A Node process of the product in another place, such as an installed package. */
export function runNode(args: readonly string[], environment: Record<string, string>, folder: string): Running {
  // What a test run of our own may have in its environment must not reach the product.
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !VARIABLES.includes(name)))
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...clean, ...headersOf(environment), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  const looks = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      for (const look of looks) look()
    })
  }
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    pid: child.pid ?? 0,
    output: () => printed,
    exited,
    untilPrinted(pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(printed)
          if (!match) return
          looks.delete(look)
          resolve(match)
        }
        looks.add(look)
        look()
        void exited.then((code) =>
          reject(new Error(`${args.join(' ')} ended with ${code} before it printed ${pattern}:\n${printed}`)),
        )
      })
    },
    async stop(signal = 'SIGINT') {
      child.kill(signal)
      return exited
    },
  }
}

/** Where the API of a started process is, and the key that opens it. */
export async function untilReady(process: Running): Promise<{ url: string; key: string }> {
  const [, url = '', key = ''] = await process.untilPrinted(/API {3}(\S+)\/v0\n {2}Key {3}(\S+)\n/)
  return { url, key }
}

/** An empty folder, and how to be rid of it. */
export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'candlepool-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

export type Ask = <Body>(path: string) => Promise<Body>

const AGAIN_MS = 500

/**
 * Asks the API, and fails where it does not answer 200. At 503 it asks again: the store of a busy machine may need longer for a statement than the
 * API gives it.
 */
export function asker(url: string, key: string): Ask {
  return async (path) => {
    for (const giveUp = performance.now() + WAIT_MS; ; await sleep(AGAIN_MS)) {
      const { status, text } = await answerOf(url, key, path)
      if (status === 200) return JSON.parse(text) as never
      if (status !== 503 || performance.now() > giveUp) throw new Error(`${path} answered ${status}: ${text}`)
    }
  }
}

async function answerOf(url: string, key: string, path: string) {
  const answer = await fetch(`${url}${path}`, { headers: { 'X-API-KEY': key } })
  return { status: answer.status, text: await answer.text() }
}
