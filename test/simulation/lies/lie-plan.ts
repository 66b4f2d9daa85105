/** Which endpoints lie in a history, how, and when. */
import { CHAIN_FAULTS, ENDPOINT_FAULTS, type Fault, isRequestFault, PLAIN_FAULTS } from '../fault.ts'
import { type Random, randomOf } from '../random.ts'
import { BRANCH_LIES, HEADER_LIES, LIES, type LieName } from './lies.ts'

export type LiarPlan = {
  /** Place in the order of preference; the first one leads. */
  voice: number
  lie: LieName
  /** Told in half of the requests. */
  isFickle: boolean
  /** Steps of the history between which it lies; absent: to the end. */
  from: number
  to?: number
}

export type LiePlan = {
  seed: number
  /** At least one of them has no liar. */
  voices: number
  liars: readonly LiarPlan[]
  faults: readonly Fault[]
}

/** Nodes on branches and two listeners at once are histories of their own; the second endpoint may be the only honest one. */
const ALONE: readonly Fault[] = [
  'two listeners during a deployment',
  'a block whose logs are left out',
  'expired history',
]

const isBranchLie = (lie: LieName) => BRANCH_LIES.some((one) => one === lie)

function hasBranches({ liars }: Pick<LiePlan, 'liars'>): boolean {
  return liars.some(({ lie }) => isBranchLie(lie))
}

/** Among voices on branches, no hash is agreed on; a voice whose headers are refused rests, and the audit waits for it. */
export function isAuditable(plan: Pick<LiePlan, 'liars'>): boolean {
  return !hasBranches(plan) && !plan.liars.some(({ lie }) => HEADER_LIES.some((one) => one === lie))
}

export function liePlanOf(seed: number): LiePlan {
  const random = randomOf(seed)
  const voices = random.between(2, 4)
  const honest = random.between(0, voices - 1)
  const others = Array.from({ length: voices }, (_, voice) => voice).filter((voice) => voice !== honest)
  const chosen = others.filter(() => random.chance(0.6))
  const liars = (chosen.length > 0 ? chosen : others.slice(0, 1)).map((voice) => liarOf(voice, random))
  return { seed, voices, liars, faults: faultsBeside(liars, random) }
}

function liarOf(voice: number, random: Random): LiarPlan {
  const from = random.chance(0.5) ? 0 : random.between(1, 4)
  return {
    ...{ voice, lie: random.pick(LIES), isFickle: random.chance(0.25), from },
    ...(random.chance(0.4) && { to: from + random.between(1, 4) }),
  }
}

/** A voice that does not answer contradicts no other: beside a branch of a liar's own, honest voices answer. */
function faultsBeside(liars: readonly LiarPlan[], random: Random): Fault[] {
  const isPossible = (fault: Fault) => {
    if (ALONE.includes(fault)) return false
    if (isRequestFault(fault)) return !hasBranches({ liars })
    return CHAIN_FAULTS.some((one) => one === fault) || PROCESSES.includes(fault)
  }
  return [...PLAIN_FAULTS, ...ENDPOINT_FAULTS].filter((fault) => isPossible(fault) && random.chance(0.15))
}

const PROCESSES: readonly Fault[] = [
  'listener restart, the log keeps its messages',
  'restart, the log keeps nothing',
  'aggregator behind the log',
]
