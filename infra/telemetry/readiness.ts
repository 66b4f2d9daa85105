/** Readiness of this process, from the facts of its stages: reasons why it is not ready. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
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
}

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
  halted: Map<StageName, string>
  head?: Block & { timestamp: UnixSeconds; seenAt: UnixSeconds }
  appended?: Block
  writer: 'waiting' | 'standing by' | 'writing'
  stalledAt?: Pick<Extract<Fact, { kind: 'stalled' }>, 'number' | 'tip'>
  /** The stored tip at the last look. */
  lastTip?: number
}

/** `hide` takes secrets out of a text. */
export function openReadiness(hide: (text: string) => string): Readiness {
  const states = new Map<NetworkName, StageStates>()

  function stateOf(network: NetworkName): StageStates {
    const state = states.get(network) ?? { stages: new Set(), halted: new Map(), writer: 'waiting' }
    states.set(network, state)
    return state
  }

  const handlers: FactHandlers = {
    'stage-started': ({ stage, network }) => stateOf(network).stages.add(stage),
    'stage-halted': ({ stage, network, error }) => {
      stateOf(network).halted.set(stage, hide(`its ${stage} has halted: ${describeError(error)}`))
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
    'range-appended': ({ network, to, timestamp }) => {
      stateOf(network).appended = { number: to, timestamp }
    },
    'block-appended': ({ network, number, timestamp }) => {
      stateOf(network).appended = { number, timestamp }
    },
    'log-standing-by': ({ topic }) => {
      const network = /(?:^|\.)blocks\.(\w+)$/.exec(topic)?.[1]
      const state = [...states].find(([name]) => name === network)?.[1]
      if (state) state.writer = 'standing by'
    },
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

  return {
    report: (fact) => handle(handlers, fact),
    networks: () => [...states].filter(([, { stages }]) => stages.size > 0).map(([network]) => network),
    standingBy: () => [...states].filter(([, state]) => isStandingBy(state)).map(([network]) => network),
    reasons: (view) =>
      [...states].flatMap(([network, state]) => {
        const [halted] = state.halted.values()
        const reason = halted ?? ofListener(state, view) ?? ofWriter(state) ?? ofTables(network, state, view)
        const tip = view.tips.get(network)
        if (tip) state.lastTip = tip.number
        return reason === undefined ? [] : [`${network}: ${reason}`]
      }),
  }
}

function isStandingBy({ stages, writer }: StageStates): boolean {
  return stages.has('aggregator') && writer === 'standing by'
}

function ofListener(
  { stages, head, appended }: StageStates,
  { now, maxTipAgeSeconds }: StoredTips,
): string | undefined {
  if (!stages.has('listener')) return undefined
  if (!head) return 'no endpoint has reported its head yet.'
  if (now - head.seenAt > maxTipAgeSeconds) return `no endpoint has reported its head for ${textOf(now - head.seenAt)}.`
  if (now - head.timestamp > maxTipAgeSeconds) {
    return `the chain or its endpoints stand still: their newest block, ${head.number}, is ${textOf(now - head.timestamp)} old.`
  }
  const { number = -1, timestamp } = appended ?? {}
  if (number >= head.number || (timestamp !== undefined && head.timestamp - timestamp <= maxTipAgeSeconds))
    return undefined
  const behind = timestamp === undefined ? '' : `, ${textOf(head.timestamp - timestamp)} behind the head`
  return `it is catching up: its listener is at block ${Math.max(0, number)} of ${head.number}${behind}.`
}

function ofWriter(state: StageStates): string | undefined {
  const { stages, writer, stalledAt } = state
  if (!stages.has('aggregator')) return undefined
  if (writer === 'waiting') return 'its aggregator has not been given the log to read yet.'
  if (!stalledAt) return undefined
  return `it is stalled: block ${stalledAt.number} of the log does not connect to the stored tip, ${stalledAt.tip}; the listener sends again from there within two minutes.`
}

function ofTables(
  network: NetworkName,
  state: StageStates,
  { now, maxTipAgeSeconds, tips }: StoredTips,
): string | undefined {
  const { stages, lastTip } = state
  // What is stored is no business of a listener alone, nor of one who stands by.
  const minds = stages.has('api') || (stages.has('aggregator') && !isStandingBy(state))
  if (!minds) return undefined
  const tip = tips.get(network)
  if (!tip) return 'nothing of it is stored yet.'
  const age = now - tip.timestamp
  if (age <= maxTipAgeSeconds) return undefined
  const how = lastTip !== undefined && tip.number > lastTip ? 'it is catching up: its' : 'its'
  return `${how} newest stored block, ${tip.number}, is ${textOf(age)} old.`
}

/** `90 s`, `12 min`, `3 h`, `2 d`: what is just as long as one would say it. */
function textOf(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= 2 * size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const
