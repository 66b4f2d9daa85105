/** Readiness of this process, from the facts of its stages: reasons why it is not ready. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { describeAsked } from '../../ingest/rpc/asked.ts'
import { describeError } from './describe-error.ts'
import { type Fact, type FactHandlers, handle, type StageName } from './fact.ts'

export type Readiness = {
  report: Report<Fact>
  /** Networks with a stage in this process. */
  networks(): NetworkName[]
  /** Networks that another process writes while this one stands by. */
  standingBy(): NetworkName[]
  /** Why this process is not ready: one reason for each network, the one that is the cause of others. */
  reasons(view: StoredTips): string[]
  /** The same for every reader: without texts of a node or of ClickHouse. */
  problems(view: StoredTips): Map<NetworkName, string>
  /** Whether this process listens to the network, or stores it. */
  isWorker(network: NetworkName): boolean
  /** Whether the listener of this process appends blocks, or is at the head. */
  isReading(network: NetworkName): boolean
}

/** `because`: for operators alone. */
type Reason = { says: string; because?: string | undefined }

/** The stored tips at a moment. */
export type StoredTips = {
  now: UnixSeconds
  /** How late a network may be and still be ready. */
  maxTipAgeSeconds: number
  tips: ReadonlyMap<NetworkName, { number: number; timestamp: UnixSeconds }>
}

type Block = { number: number; timestamp?: UnixSeconds }

type StageStates = {
  stages: Set<StageName>
  halted: Map<StageName, Reason>
  head?: Block & { timestamp: UnixSeconds; seenAt: UnixSeconds }
  appended?: Block
  /** Settings of topics. */
  unsuitable: Map<string, Reason>
  writer: 'waiting' | 'standing by' | 'writing'
  stalledAt?: Pick<Extract<Fact, { kind: 'stalled' }>, 'number' | 'tip'>
  /** The last failure of an endpoint since blocks were appended. */
  failed?: Reason
  /** Why the last blocks could not be stored. */
  unstored?: Reason
  /** The stored tip at the last look. */
  lastTip?: number
}

/** `hide` takes secrets out of a text. */
export function openReadiness(hide: (text: string) => string): Readiness {
  const states = new Map<NetworkName, StageStates>()

  function stateOf(network: NetworkName): StageStates {
    const state = states.get(network) ?? {
      stages: new Set(),
      halted: new Map(),
      unsuitable: new Map(),
      writer: 'waiting',
    }
    states.set(network, state)
    return state
  }

  const handlers = handlersOf(states, stateOf, hide)

  return {
    report: (fact) => handle(handlers, fact),
    networks: () => [...states].filter(([, { stages }]) => stages.size > 0).map(([network]) => network),
    standingBy: () => [...states].filter(([, state]) => isStandingBy(state)).map(([network]) => network),
    reasons: (view) =>
      [...states].flatMap(([network, state]) => {
        const reason = reasonOf(network, state, view)
        const tip = view.tips.get(network)
        if (tip) state.lastTip = tip.number
        return reason === undefined ? [] : [`${network}: ${reason.says}${reason.because ? `: ${reason.because}` : '.'}`]
      }),
    problems: (view) =>
      new Map(
        [...states].flatMap(([network, state]) => {
          const reason = reasonOf(network, state, view)
          return reason === undefined ? [] : [[network, `${reason.says}.`] as const]
        }),
      ),
    isWorker: (network) => stateOf(network).stages.has('listener') || stateOf(network).stages.has('aggregator'),
    isReading(network) {
      const { halted, failed, head, appended } = stateOf(network)
      const isNew = appended?.timestamp !== undefined || (head && appended && appended.number >= head.number)
      return halted.size === 0 && failed === undefined && isNew === true
    },
  }
}

/** Facts change the states of networks. */
function handlersOf(
  states: ReadonlyMap<NetworkName, StageStates>,
  stateOf: (network: NetworkName) => StageStates,
  hide: (text: string) => string,
): FactHandlers {
  function appended(network: NetworkName, block: Block): void {
    const state = stateOf(network)
    state.appended = block
    delete state.failed
  }

  function stateOfTopic(topic: string, pattern = /(?:^|\.)(?:blocks|backfill)\.(\w+)$/): StageStates | undefined {
    const network = pattern.exec(topic)?.[1]
    return [...states].find(([name]) => name === network)?.[1]
  }

  return {
    'stage-started': ({ stage, network }) => stateOf(network).stages.add(stage),
    'stage-halted': ({ stage, network, error }) => {
      stateOf(network).halted.set(stage, { says: `its ${stage} has halted`, because: hide(describeError(error)) })
    },
    'stage-resumed': ({ stage, network }) => stateOf(network).halted.delete(stage),
    'stage-restarted': ({ stage, network }) => {
      if (stage !== 'aggregator') return
      const state = stateOf(network)
      state.writer = 'waiting'
      delete state.stalledAt
    },
    resumed: ({ network, at }) => {
      if (at) stateOf(network).appended = { number: at.number }
    },
    'head-seen': ({ network, number, timestamp }) => {
      stateOf(network).head = { number, timestamp, seenAt: Date.now() / 1000 }
    },
    'range-appended': ({ network, to, timestamp }) => appended(network, { number: to, timestamp }),
    'block-appended': ({ network, number, timestamp }) => appended(network, { number, timestamp }),
    'rpc-failed': (fact) => {
      if (fact.endpoint === undefined) return
      stateOf(fact.network).failed = { says: failureText(fact), because: hide(describeError(fact.error)) }
    },
    'store-failed': ({ network, error }) => {
      stateOf(network).unstored = { says: 'ClickHouse does not store its blocks', because: hide(describeError(error)) }
    },
    flushed: ({ network }) => {
      delete stateOf(network).unstored
    },
    'log-standing-by': ({ topic }) => {
      const state = stateOfTopic(topic, /(?:^|\.)blocks\.(\w+)$/)
      if (state) state.writer = 'standing by'
    },
    'log-setting-unsuitable': ({ topic, setting, value, wanted }) => {
      const says = `the topic ${topic} has ${setting}=${value}, which is not read here: set it to ${wanted}`
      stateOfTopic(topic)?.unsuitable.set(topic, { says })
    },
    'log-setting-mended': ({ topic }) => stateOfTopic(topic)?.unsuitable.delete(topic),
    'aggregator-started': ({ network }) => {
      stateOf(network).writer = 'writing'
    },
    stalled: ({ network, number, tip }) => {
      stateOf(network).stalledAt = { number, tip }
    },
    connected: ({ network }) => {
      delete stateOf(network).stalledAt
    },
  }
}

function reasonOf(network: NetworkName, state: StageStates, view: StoredTips): Reason | undefined {
  const [halted] = state.halted.values()
  const [unsuitable] = state.unsuitable.values()
  return halted ?? unsuitable ?? ofListener(state, view) ?? ofWriter(state) ?? ofTables(network, state, view)
}

function isStandingBy({ stages, writer }: StageStates): boolean {
  return stages.has('aggregator') && writer === 'standing by'
}

function ofListener(
  { stages, head, appended, failed }: StageStates,
  { now, maxTipAgeSeconds }: StoredTips,
): Reason | undefined {
  if (!stages.has('listener')) return undefined
  if (!head || now - head.seenAt > maxTipAgeSeconds) {
    const since = head ? `for ${textOf(now - head.seenAt)}` : 'yet'
    if (!failed) return { says: `no endpoint has reported its head ${since}` }
    return { ...failed, says: `no endpoint has reported its head ${since}: ${failed.says}` }
  }
  const { number = -1, timestamp } = appended ?? {}
  const isLate = number < head.number && (timestamp === undefined || head.timestamp - timestamp > maxTipAgeSeconds)
  if (now - head.timestamp > maxTipAgeSeconds && !(isLate && failed)) {
    const age = textOf(now - head.timestamp)
    return { says: `the chain or its endpoints stand still: their newest block, ${head.number}, is ${age} old` }
  }
  if (!isLate) return undefined
  const behind = timestamp === undefined ? '' : `, ${textOf(head.timestamp - timestamp)} behind the head`
  const at = `its listener is at block ${Math.max(0, number)} of ${head.number}${behind}`
  return failed ? { ...failed, says: `${failed.says}; ${at}` } : { says: `it is catching up: ${at}` }
}

function ofWriter(state: StageStates): Reason | undefined {
  const { stages, writer, stalledAt, unstored } = state
  if (!stages.has('aggregator')) return undefined
  if (unstored) return unstored
  if (writer === 'waiting') return { says: 'its aggregator has not been given the log to read yet' }
  if (!stalledAt) return undefined
  const { number, tip } = stalledAt
  return {
    says: `it is stalled: block ${number} of the log does not connect to the stored tip, ${tip}; the listener sends again from there within two minutes`,
  }
}

function ofTables(
  network: NetworkName,
  state: StageStates,
  { now, maxTipAgeSeconds, tips }: StoredTips,
): Reason | undefined {
  const { stages, lastTip } = state
  // A process with a listener alone, or on stand-by, does not answer for stored blocks.
  const minds = stages.has('api') || (stages.has('aggregator') && !isStandingBy(state))
  if (!minds) return undefined
  const tip = tips.get(network)
  if (!tip) return { says: 'nothing of it is stored yet' }
  const age = now - tip.timestamp
  if (age <= maxTipAgeSeconds) return undefined
  const how = lastTip !== undefined && tip.number > lastTip ? 'it is catching up: its' : 'its'
  return { says: `${how} newest stored block, ${tip.number}, is ${textOf(age)} old` }
}

/** In words of its own: the endpoint's text is for operators. */
function failureText({ problem, method, blocks }: Extract<Fact, { kind: 'rpc-failed' }>): string {
  const what = method === undefined ? 'a request' : describeAsked({ method, ...(blocks !== undefined && { blocks }) })
  switch (problem) {
    case 'rate-limited':
      return `the endpoint limits the rate of requests, ${what} among them`
    case 'behind':
      return `the endpoint lacks the block of ${what}`
    case 'timeout':
      return `the endpoint does not answer ${what} in time`
    case 'unreachable':
      return `the endpoint is not reached by ${what}, or fails at it`
    case 'malformed':
    case 'contradictory':
      return `the endpoint answers ${what} with what cannot be used`
    default:
      return `the endpoint refuses ${what}`
  }
}

/** As `90 s`, `12 min`, `3 h` or `2 d`. */
function textOf(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= 2 * size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const
