/** Asks the voices of a network about one block: which hash the chain has at a height. */

import type { Client, Hash } from 'viem'
import type { AgreeAt, AgreedBlock } from '../finality.ts'
import { getHead, getHeader, type Header } from '../rpc.ts'
import { BadAnswer, classify, isRpcError, RpcFailed } from '../rpc-error.ts'
import type { Endpoint } from './endpoint.ts'
import { type ReportEndpoint, recordAnswer, recordFailure, recordFork } from './endpoint-outcome.ts'

export type VoiceAnswer<T> = { endpoint: Endpoint; answer: T }

/** Runs `task` once at each voice that answers now, at the first of its endpoints that is usable, in the order of configuration. */
export async function askVoices<T>(
  endpoints: readonly Endpoint[],
  verify: (endpoint: Endpoint) => Promise<void>,
  report: ReportEndpoint,
  task: (client: Client) => Promise<T>,
): Promise<VoiceAnswer<T>[]> {
  const usable = endpoints.filter((it) => !it.disabled && it.waitMs() === 0)
  const first = usable.filter((it, index) => usable.findIndex(({ voice }) => voice === it.voice) === index)
  const answers = await Promise.all(first.map((endpoint) => askOne(endpoint, verify, report, task)))
  return answers.flat()
}

async function askOne<T>(
  endpoint: Endpoint,
  verify: (endpoint: Endpoint) => Promise<void>,
  report: ReportEndpoint,
  task: (client: Client) => Promise<T>,
): Promise<VoiceAnswer<T>[]> {
  const epoch = endpoint.breaker.begin()
  try {
    await verify(endpoint)
    if (endpoint.disabled) return []
    const answer = await task(endpoint.historyClient)
    recordAnswer(report, endpoint, epoch)
    return [{ endpoint, answer }]
  } catch (error) {
    if (!isRpcError(error)) return []
    const problem = classify(error)
    const failed = new RpcFailed(endpoint.name, problem, error)
    recordFailure(report, endpoint, { epoch, error: failed, problem, run: {}, isAlone: false })
    return []
  }
}

/** The hash that more than half have: of two, both. `without`: the number of those that have none. */
export function mostOf(hashes: readonly Hash[], without = 0): Hash | undefined {
  const half = (hashes.length + without) / 2
  return hashes.find((hash) => hashes.filter((other) => other === hash).length > half)
}

/** The header of a block; where the endpoint lacks it, its head is read, which says whether it should have it. */
export async function headerAt(client: Client, number: number): Promise<Vote | undefined> {
  const header = await getHeader(client, number)
  if (!header) await getHead(client)
  return header
}

export type Vote = Pick<Header, 'hash' | 'timestamp'>

/** Disagreements of a network are reported once in this time. */
const REPORT_MS = 60_000

/**
 * A disagreement is reported, and voices in the minority come last for a while. `expected`: the voices without which there is no agreement,
 * including ones that answered before and have failed for less than half a minute.
 */
export function agreementOf(
  expected: () => readonly string[],
  ask: (number: number) => Promise<VoiceAnswer<Vote | undefined>[]>,
  report: ReportEndpoint,
): AgreeAt {
  let reportedMs = Number.NEGATIVE_INFINITY
  return async (number) => {
    const answers = await ask(number)
    const heard = new Set(answers.map(({ endpoint }) => endpoint.voice))
    if (expected().some((voice) => !heard.has(voice))) return undefined
    const votes = answers.flatMap(({ endpoint, answer }) => (answer ? [{ endpoint, ...answer }] : []))
    // A block above the heads of sound nodes is not final.
    const without = answers.filter(({ endpoint, answer }) => answer === undefined && endpoint.isCurrent)
    const most = mostOf(
      votes.map(({ hash }) => hash),
      without.length,
    )
    const agreed = agreedBlock(votes.filter(({ hash }) => hash === most))
    if (votes.every(({ hash }) => hash === votes[0]?.hash)) return agreed
    const now = performance.now()
    if (now - reportedMs >= REPORT_MS) {
      reportedMs = now
      const voices = votes.map(({ endpoint, hash }) => ({ endpoint: endpoint.name, hash }))
      report({ kind: 'endpoints-disagree', block: number, voices, agreed: most })
    }
    for (const { endpoint, hash } of votes) {
      if (most === undefined || hash === most) continue
      const text = `It has ${hash} as block ${number}, and most of the endpoints ${most}.`
      recordFork(report, endpoint, new BadAnswer('contradictory', text))
    }
    return agreed
  }
}

/** Where these voices have one hash, which proves one time. */
function agreedBlock(votes: readonly ({ endpoint: Endpoint } & Vote)[]): AgreedBlock | undefined {
  const [first] = votes
  const headTimes = votes.map(({ endpoint }) => endpoint.headTime ?? 0)
  return first && { hash: first.hash, timestamp: first.timestamp, headTime: Math.min(...headTimes) }
}
