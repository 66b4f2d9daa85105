/** Readers beside an upgrade: what the requests of each second were answered with, and how many blocks the answers were behind the chain. */
import { Agent, type ClientRequest, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/until.ts'

const PER_SECOND = 200
const STEP_MS = 25
const TIMEOUT_MS = 30_000

/** `refused`: no process listened. `cut`: the connection ended before the answer. */
type Outcome = number | 'refused' | 'cut'

export type Second = {
  step: string
  /** Requests by outcome. */
  outcomes: Map<Outcome, number>
  head: number
  /** Undefined where health was not answered. */
  lag: number | undefined
}

export type UpgradeLoad = {
  /** Names what happens from now on. `outage`: the current second counts for it too. */
  step(name: string, outage?: 'outage'): void
  /** Addresses that are asked in turn from now on, as by a proxy. */
  ask(urls: readonly string[]): void
  /** The first of them. */
  asked(): string | undefined
  /** Until the answers of an address know the chain's head; how long that took, in seconds. */
  untilAtHead(url: string): Promise<number>
  stop(): Promise<readonly Second[]>
}

export function startLoad(key: string, paths: readonly string[], headNow: () => number): UpgradeLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 })
  const seconds: Second[] = []
  const open = new Set<Promise<void>>()
  let began = performance.now()
  let [urls, step, sent, isStopped]: [readonly string[], string, number, boolean] = [[], 'before', 0, false]

  async function request(url: string, path: string): Promise<void> {
    const outcome = await answerOf(agent, `${url}${path}`, key)
    // That of the answer: a request may have waited for one of the connections.
    const second = seconds.at(-1)
    second?.outcomes.set(outcome, (second.outcomes.get(outcome) ?? 0) + 1)
  }
  const keep = (task: Promise<void>) => {
    open.add(task)
    void task.finally(() => open.delete(task))
  }
  async function measureLag(second: Second): Promise<void> {
    const tip = await tipAt(urls[0] ?? '', key)
    second.lag = tip === undefined ? undefined : second.head - tip
  }
  const timer = setInterval(() => {
    if (urls.length === 0) return
    const elapsed = performance.now() - began
    const index = Math.floor(elapsed / 1_000)
    let second = seconds[index]
    if (!second) {
      second = { step, outcomes: new Map(), head: headNow(), lag: undefined }
      seconds[index] = second
      keep(measureLag(second))
    }
    const due = Math.floor((elapsed * PER_SECOND) / 1_000)
    // What could not be sent while this process was busy is not made up for in one instant.
    sent = Math.max(sent, due - PER_SECOND / 2)
    for (; sent < due; sent++) keep(request(urls[sent % urls.length] ?? '', paths[sent % paths.length] ?? ''))
  }, STEP_MS)

  return {
    step(name, outage) {
      step = name
      const current = seconds.at(-1)
      if (current && outage) current.step = name
    },
    ask(next) {
      if (urls.length === 0) began = performance.now()
      urls = next
    },
    asked: () => urls[0],
    async untilAtHead(url) {
      const from = performance.now()
      const isAtHead = async () => ((await tipAt(url, key)) === headNow() ? true : undefined)
      await until(isAtHead, 'the answers know the head of the chain')
      return (performance.now() - from) / 1_000
    },
    async stop() {
      if (isStopped) return seconds
      isStopped = true
      clearInterval(timer)
      await Promise.race([Promise.all(open), sleep(TIMEOUT_MS)])
      agent.destroy()
      return seconds.filter(Boolean)
    },
  }
}

/** A connection that was kept open and is closed as the request leaves is opened again, as HTTP clients do. */
async function answerOf(agent: Agent, url: string, key: string): Promise<Outcome> {
  for (;;) {
    const { outcome, isRetried } = await new Promise<{ outcome: Outcome; isRetried: boolean }>((resolve) => {
      const request: ClientRequest = get(url, { agent, headers: { 'X-API-KEY': key }, timeout: TIMEOUT_MS })
      request.on('response', (response) => {
        response.resume()
        response.on('end', () => resolve({ outcome: response.statusCode ?? 0, isRetried: false }))
        response.on('error', () => resolve({ outcome: 'cut', isRetried: false }))
      })
      request.on('timeout', () => request.destroy(new Error('timeout')))
      request.on('error', ({ code }: NodeJS.ErrnoException) =>
        resolve({ outcome: code === 'ECONNREFUSED' ? 'refused' : 'cut', isRetried: request.reusedSocket }),
      )
    })
    if (!isRetried) return outcome
  }
}

async function tipAt(url: string, key: string): Promise<number | undefined> {
  try {
    const answer = await fetch(`${url}/v0/health`, { headers: { 'X-API-KEY': key } })
    const { networks } = (await answer.json()) as { networks: { tip: { number: number } | null }[] }
    return networks[0]?.tip?.number
  } catch {
    return undefined
  }
}

/** A line a second, and one for each step. */
export function print(title: string, seconds: readonly Second[]): void {
  const lines = seconds.map(({ step, outcomes, head, lag }, index) =>
    [String(index).padStart(3), step.padEnd(24), `head ${head}`, `lag ${lag ?? '-'}`.padEnd(7), textOf(outcomes)].join(
      '  ',
    ),
  )
  const steps = [...new Set(seconds.map(({ step }) => step))].map((step) => {
    const own = seconds.filter((second) => second.step === step)
    const lags = own.flatMap(({ lag }) => lag ?? [])
    return `${step.padEnd(24)}  ${String(own.length).padStart(3)} s  most blocks behind ${Math.max(...lags)}  ${textOf(outcomesOf(own))}`
  })
  console.log([title, ...lines, '', ...steps].join('\n'))
}

export function outcomesOf(seconds: readonly Second[]): Map<Outcome, number> {
  const sums = new Map<Outcome, number>()
  for (const { outcomes } of seconds)
    for (const [outcome, count] of outcomes) sums.set(outcome, (sums.get(outcome) ?? 0) + count)
  return sums
}

function textOf(outcomes: ReadonlyMap<Outcome, number>): string {
  return [...outcomes].map(([outcome, count]) => `${outcome}: ${count}`).join(', ')
}
