/** Everything that the simulated chain, its nodes and our own processes can do wrong, by name. */

/** Limits, refusals and delays that providers have beside a sound node. */
export const ENDPOINT_FAULTS = [
  'ranges of few blocks',
  'heavy ranges that fail without a reason',
  'too many logs, with a range that would do',
  'filters of few topics',
  'no logs by block hash',
  'logs that come twice',
  'null headers of the newest block',
  'a newest block whose logs are not there yet',
  'the tag `finalized` is not supported',
  'a final block far below the others',
  'rate limits within answers',
  'expired history',
] as const
export type EndpointFault = (typeof ENDPOINT_FAULTS)[number]

/** Faults of single requests. */
const PLAIN_REQUEST_FAULTS = [
  '429',
  '429 with Retry-After',
  '5xx',
  'timeouts',
  'connection resets',
  'malformed JSON',
  'answers of another shape',
  'truncated answers',
  'ranges refused as too large',
  'removed logs',
  'two hashes for one block',
  'logs without time stamps',
  'a block whose logs are left out',
] as const
const REQUEST_FAULTS = [...PLAIN_REQUEST_FAULTS, ...ENDPOINT_FAULTS] as const
export type RequestFault = (typeof REQUEST_FAULTS)[number]

/** Where the nodes behind an endpoint stand. */
export const NODE_FAULTS = [
  'a node that flips between two branches',
  'two nodes on different branches',
  'two nodes on different branches while a listener starts',
  'a node on a fork below what is final',
  'a lagging node',
  'empty answers past its head',
  'wrong chain id',
] as const
export type NodeFault = (typeof NODE_FAULTS)[number]

/** Reorgs of any depth above finality. */
export const CHAIN_FAULTS = [
  'reorg during live',
  'reorg during catch-up',
  'reorg during a restart',
  're-mined with other time stamps',
  'shorter fork first',
] as const

export const PROCESS_FAULTS = [
  'listener restart, the log keeps its messages',
  'restart, the log keeps nothing',
  'two listeners during a deployment',
  'aggregator behind the log',
] as const

/** Faults that must end a listener; not among the survivable `FAULTS`. */
export const HALTS = [
  'a chain replaced below finality, live',
  'a chain replaced below finality while no listener ran',
] as const
export type Halt = (typeof HALTS)[number]

export const PLAIN_FAULTS = [...CHAIN_FAULTS, ...NODE_FAULTS, ...PLAIN_REQUEST_FAULTS, ...PROCESS_FAULTS] as const
export const FAULTS = [...PLAIN_FAULTS, ...ENDPOINT_FAULTS] as const
export type Fault = (typeof FAULTS)[number]

export function isRequestFault(fault: Fault): fault is RequestFault {
  return REQUEST_FAULTS.some((one) => one === fault)
}

/** How often each fault really came about: a test of a fault that never was proves nothing. */
export class Happened {
  readonly #times = new Map<Fault, number>()

  note(fault: Fault): void {
    this.#times.set(fault, this.of(fault) + 1)
  }

  of(fault: Fault): number {
    return this.#times.get(fault) ?? 0
  }

  get all(): ReadonlyMap<Fault, number> {
    return this.#times
  }
}
