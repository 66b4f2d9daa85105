/** An endpoint: one address, some nodes behind it, and the ways in which a request to it goes wrong. */
import { type Client, createClient, http } from 'viem'
import type { Call, Outcome } from '../support/json-rpc.ts'
import { ancestorOf, type Block, isAncestor } from './block.ts'
import { sleep } from './clock.ts'
import { FAULTY_ANSWERS } from './endpoint-faults.ts'
import { ENDPOINT_FAULTS, type Happened, type RequestFault } from './fault.ts'
import { NETWORK } from './market.ts'
import { respondFrom, type View } from './node.ts'
import type { Random } from './random.ts'

export type Endpoint = {
  client: Client
  /** A load balancer sends each request to one of these. */
  nodes: SimulatedNode[]
  /** Faults that may be injected from now on. */
  faults: Set<RequestFault>
  /** Absent while it is honest. */
  liar?: Liar | undefined
}

export type Answerer = (call: Pick<Call, 'method' | 'params'>) => Outcome
/** Asked once for each request; undefined where that is answered with the truth. */
export type Liar = (view: View) => Answerer | undefined

export class SimulatedNode {
  #view: View
  readonly #past = new Map<`0x${string}`, Block>()

  constructor(head: Block, finalized: Block) {
    this.#view = { chainId: NETWORK.chainId, head, finalized, past: this.#past }
  }

  get view(): View {
    return this.#view
  }

  follow(head: Block, finalized: Block, chainId = NETWORK.chainId): void {
    // What it has had it keeps, as real nodes do for a while.
    for (let at: Block | undefined = this.#view.head; at && !this.#past.has(at.hash); at = at.parent) {
      this.#past.set(at.hash, at)
    }
    // Where it has not heard of the newest finality, it keeps to the one before.
    const known = [finalized, this.#view.finalized].find((block) => isAncestor(block, head))
    const before = ancestorOf(head, Math.min(head.number, this.#view.finalized.number))
    this.#view = { chainId, head, finalized: known ?? before ?? head, past: this.#past }
  }
}

const TIMEOUT_MS = 5_000
/** Share of faulty requests while a fault is active. */
const SHARE = 0.25

export function openEndpoint(name: string, nodes: SimulatedNode[], random: Random, happened: Happened): Endpoint {
  const faults = new Set<RequestFault>()
  const leftOut = new Set<string>()
  const strikes = (fault: RequestFault, share = SHARE) => faults.has(fault) && random.chance(share)

  async function answer(body: string, signal: AbortSignal | null | undefined): Promise<Answer> {
    await sleep(random.between(1, 15))
    if (strikes('timeouts', 0.1)) {
      happened.note('timeouts')
      return await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    if (strikes('connection resets')) {
      happened.note('connection resets')
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
      })
    }
    for (const [fault, status, headers] of REFUSALS) {
      if (!strikes(fault)) continue
      happened.note(fault)
      return answerOf('{"error":"not now"}', status, headers)
    }
    const calls = JSON.parse(body) as Call | Call[]
    const [first, ...others] = nodes
    if (!first) throw new Error('An endpoint has at least one node.')
    const { view } = random.pick([first, ...others])
    const told = endpoint.liar?.(view)
    const outcomes = [calls].flat().map((call) => {
      const truth = told?.(call) ?? respondFrom(view, call)
      const outcome = provided(call, truth, view) ?? spoiled(call, truth, view)
      return { jsonrpc: '2.0', id: call.id, ...outcome }
    })
    const text = JSON.stringify(Array.isArray(calls) ? outcomes : outcomes[0])
    if (strikes('truncated answers')) {
      happened.note('truncated answers')
      return answerOf(text.slice(0, random.between(0, text.length - 1)))
    }
    if (strikes('malformed JSON')) {
      happened.note('malformed JSON')
      return answerOf(random.pick(['<html>Just a moment…</html>', '', 'upstream error', text.replaceAll('"', "'")]))
    }
    if (strikes('answers of another shape')) {
      happened.note('answers of another shape')
      return answerOf(random.pick(['null', '[]', '{}', '"no"', '7']))
    }
    return answerOf(text)
  }

  function provided(call: Call, truth: Outcome, view: View): Outcome | undefined {
    for (const fault of ENDPOINT_FAULTS) {
      const { share = 1, answer: answerTo } = FAULTY_ANSWERS[fault]
      const outcome = strikes(fault, share) ? answerTo({ call, truth, view, random }) : undefined
      if (!outcome) continue
      happened.note(fault)
      return outcome
    }
    return undefined
  }

  function spoiled(call: Call, outcome: Outcome, view: View): Outcome {
    if (call.method !== 'eth_getLogs' || !('result' in outcome)) {
      if (call.method === 'eth_chainId' && view.chainId !== NETWORK.chainId) happened.note('wrong chain id')
      if (!strikes('answers of another shape', 0.05)) return outcome
      happened.note('answers of another shape')
      // A number would be another chain's id, and could be true.
      return { result: random.pick([null, 'nonsense', {}]) }
    }
    // Nodes promise no order.
    let logs = [...(outcome.result as Log[])]
    if (random.chance(0.5)) logs.reverse()
    if (strikes('answers of another shape', 0.05)) {
      happened.note('answers of another shape')
      return { result: random.pick([null, 'nonsense', {}]) }
    }
    const query = call.params[0] as { blockHash?: string; fromBlock?: string; toBlock?: string }
    if (query.toBlock?.startsWith('0x') && Number(query.toBlock) > view.head.number) {
      happened.note('empty answers past its head')
    }
    const isRange = query.blockHash === undefined
    if (isRange && logs.length > 3 && strikes('ranges refused as too large', 0.7)) {
      happened.note('ranges refused as too large')
      return { error: { code: -32005, message: 'query returned more than 3 results' } }
    }
    // Of a whole block, and once: its header's bloom tells, and it is asked for again. More only an audit can find.
    const hash = logs[0]?.blockHash
    if (!isRange && hash && !leftOut.has(hash) && strikes('a block whose logs are left out')) {
      leftOut.add(hash)
      happened.note('a block whose logs are left out')
      return { result: [] }
    }
    if (strikes('removed logs')) {
      const numbers = new Set(logs.map((log) => Number(log.blockNumber)))
      const [from, to] = [Number(query.fromBlock), Number(query.toBlock)]
      const isAsked = (number: number) => (isRange ? number >= from && number <= to : numbers.has(number))
      const removed = leftLogs(view, isAsked).map((log) => ({ ...log, removed: true }))
      if (removed.length > 0) happened.note('removed logs')
      logs = [...logs, ...removed]
    }
    if (strikes('two hashes for one block')) {
      const others = siblings(view, logs)
      if (others.length > 0) happened.note('two hashes for one block')
      logs = [...logs, ...others]
    }
    if (faults.has('logs without time stamps') && logs.length > 0) {
      happened.note('logs without time stamps')
      return { result: logs.map(({ blockTimestamp: _, ...log }) => log) }
    }
    return { result: logs }
  }

  const client = createClient({
    name,
    transport: http(`http://${name}.invalid`, {
      batch: { batchSize: 100 },
      retryCount: 0,
      timeout: TIMEOUT_MS,
      fetchFn: (_, init) => answer(String(init?.body), init?.signal) as Promise<Response>,
    }),
  })
  const endpoint: Endpoint = { client, nodes, faults }
  return endpoint
}

type Log = Block['logs'][number]

/** Logs of branches that were left, of these blocks by their numbers. */
function leftLogs(view: View, isMeant: (number: number) => boolean): Log[] {
  return [...view.past.values()]
    .filter((block) => isMeant(block.number) && ancestorOf(view.head, block.number) !== block)
    .flatMap((block) => block.logs)
}

/** Logs that would stand beside other logs of the same block. */
function siblings(view: View, logs: readonly Log[]): Log[] {
  const numbers = new Set(logs.map((log) => Number(log.blockNumber)))
  const hashes = new Set(logs.map((log) => log.blockHash))
  return leftLogs(view, (number) => numbers.has(number)).filter((log) => !hashes.has(log.blockHash))
}

const REFUSALS = [
  ['429', 429, {}],
  ['429 with Retry-After', 429, { 'retry-after': '2' }],
  ['5xx', 503, {}],
] as const satisfies readonly (readonly [RequestFault, number, Record<string, string>])[]

/** As much of a `Response` as a client reads. */
type Answer = Pick<Response, 'ok' | 'status' | 'statusText' | 'headers' | 'body' | 'text'>

function answerOf(text: string, status = 200, headers: Record<string, string> = {}): Answer {
  return {
    ok: status < 300,
    status,
    statusText: `status ${status}`,
    headers: new Headers({ 'content-type': 'application/json', ...headers }),
    body: null,
    text: async () => text,
  }
}
